"""Words of fifteen languages, from which the names of invented sites are made."""

from typing import Final, NamedTuple


class Language(NamedTuple):
    code: str
    endings: tuple[str, ...]  # the top-level domains of its sites
    words: tuple[str, ...]


def _language(code: str, endings: str, words: str) -> Language:
    return Language(code, tuple(endings.split()), tuple(words.split()))


LANGUAGES: Final = (
    _language(
        "en",
        "com net org co.uk io",
        "amber birch cedar copper crown daily ember fern field garden harbor hazel kettle lantern "
        "maple meadow north orchard pepper quill river saddle stone summer thistle velvet willow",
    ),
    _language(
        "de",
        "de at ch",
        "abend apfel bach berg birke blatt brunnen dorf feder garten hafen hirsch insel kirsche "
        "laterne linde markt nebel quelle regen schatten stern taube ufer wald wolke zeitung",
    ),
    _language(
        "fr",
        "fr be",
        "abeille ardoise bateau bois canal cerise chemin cloche colline ecole etoile ferme foret "
        "jardin lune marche matin moulin nuage papier pierre plume riviere rosee soleil vallon",
    ),
    _language(
        "es",
        "es mx com.ar",
        "agua alba arena barco bosque camino campana cereza ciudad cielo cuento espejo faro flor "
        "huerto isla luna madera mercado nube papel piedra playa puente rio sol tejado viento",
    ),
    _language(
        "it",
        "it",
        "acqua alba barca bosco campo cielo collina farfalla fiore fiume fontana giardino isola "
        "lago libro luna mare mercato mulino neve nuvola pietra ponte rosa sentiero stella vento",
    ),
    _language(
        "pt",
        "pt com.br",
        "areia barco bosque caminho campo cidade estrela farol floresta fonte ilha janela jardim "
        "lua manha mar mercado montanha nuvem papel pedra ponte praia rio sol telhado vento",
    ),
    _language(
        "nl",
        "nl be",
        "appel berk boom brug dijk dorp duin eiland gracht haven heide kers kompas lantaarn linde "
        "markt molen nevel oever polder regen sloot ster strand tuin veer wolk zeil",
    ),
    _language(
        "pl",
        "pl",
        "brzoza chmura dolina dom droga gwiazda jablko jezioro kamien klon kwiat las lampa liczba "
        "mgla morze most niebo ogrod okno piasek pole rynek rzeka slonce wiatr wieza zamek",
    ),
    _language(
        "sv",
        "se nu",
        "backe berg bjork blad bro by dimma eld fjord gata glas hamn himmel hjort kust lykta "
        "mane moln ros sand sjo skog sol sten strand torg vind vinter",
    ),
    _language(
        "tr",
        "com.tr",
        "ada agac bahar bahce bulut cicek dag deniz dere elma fener gece gol gunes kalem kapi "
        "kaya kitap kopru liman masal nehir orman pazar ruzgar sokak tas yildiz",
    ),
    _language(
        "ru",
        "xn--p1ai ru",
        "берег ветер вода гора город дерево дом дорога звезда зима камень книга лес лето лодка "
        "луна море мост небо облако озеро остров песок поле река роза сад солнце",
    ),
    _language(
        "el",
        "gr",
        "αμμος ανεμος αστερι βιβλιο βουνο βροχη δασος δεντρο δρομος ελια ηλιος θαλασσα καραβι "
        "κηπος λιμανι λουλουδι μηλο μυλος νερο νησι νυχτα ουρανος πετρα πολη ποταμι σπιτι χωριο",
    ),
    _language(
        "zh",
        "cn com.cn",
        "白云 春风 东海 飞鸟 枫叶 古镇 海岛 荷花 红豆 花园 江南 金桥 蓝天 绿洲 明月 南山 青石 秋水 "
        "日出 山谷 书香 松林 天桥 晚霞 西湖 小路 雪山 银河 竹林",
    ),
    _language(
        "ja",
        "jp co.jp",
        "青空 朝日 雨音 海辺 梅花 絵本 丘道 風車 川辺 北風 霧雨 草原 小道 桜木 里山 潮風 白雪 砂浜 "
        "空色 竹林 月夜 冬空 星空 水辺 港町 森林 山道 夕焼 雪国",
    ),
    _language(
        "ko",
        "kr co.kr",
        "가을 강변 거리 겨울 구름 그림 꽃길 나무 노을 달빛 도시 등대 마을 무지개 바다 바람 별빛 "
        "봄날 산책 새벽 서점 섬길 소나무 시장 아침 여름 연못 하늘 호수",
    ),
)
