"""Services that the stand-in can block: ids, groups and domains are those of AdGuard Home, a small
selection of them."""

from typing import Final, NamedTuple


class StandInService(NamedTuple):
    id: str
    name: str
    group: str
    domains: tuple[str, ...]
    parts: tuple[str, ...]  # of the hosts that a device visits

    @property
    def rules(self) -> list[str]:
        return [f"||{domain}^" for domain in self.domains]

    @property
    def hosts(self) -> tuple[str, ...]:
        return self.domains + tuple(
            f"{part}.{domain}" for domain in self.domains for part in self.parts
        )


def _service(id_: str, name: str, group: str, domains: str, parts: str) -> StandInService:
    return StandInService(id_, name, group, tuple(domains.split()), tuple(parts.split()))


SERVICES: Final = (
    _service("chatgpt", "ChatGPT", "ai", "chatgpt.com openai.com oaistatic.com", "www api cdn ws"),
    _service("claude", "Claude", "ai", "claude.ai anthropic.com", "www api a-cdn"),
    _service("gemini", "Google Gemini", "ai", "gemini.google.com", "www push"),
    _service("perplexity", "Perplexity", "ai", "perplexity.ai pplx.ai", "www api"),
    _service(
        "youtube", "YouTube", "streaming", "youtube.com googlevideo.com ytimg.com", "www i r4"
    ),
    _service(
        "netflix", "Netflix", "streaming", "netflix.com nflxvideo.net nflxso.net", "www api occ"
    ),
    _service("spotify", "Spotify", "streaming", "spotify.com scdn.co", "www api audio-fa"),
    _service("twitch", "Twitch", "streaming", "twitch.tv ttvnw.net jtvnw.net", "www api gql"),
    _service(
        "tiktok", "TikTok", "social_network", "tiktok.com tiktokcdn.com tiktokv.com", "www p16"
    ),
    _service("instagram", "Instagram", "social_network", "instagram.com cdninstagram.com", "www i"),
    _service("reddit", "Reddit", "social_network", "reddit.com redd.it redditmedia.com", "www i v"),
    _service(
        "discord", "Discord", "social_network", "discord.com discord.gg discordapp.com", "cdn"
    ),
    _service("whatsapp", "WhatsApp", "messenger", "whatsapp.com whatsapp.net", "web mmg static"),
    _service("signal", "Signal", "messenger", "signal.org", "chat storage cdn updates"),
    _service("roblox", "Roblox", "gaming", "roblox.com rbxcdn.com", "www apis tr presence"),
    _service("minecraft", "Minecraft", "gaming", "minecraft.net mojang.com", "www api session"),
    _service("steam", "Steam", "gaming", "steampowered.com steamcommunity.com", "store api cdn"),
    _service("amazon", "Amazon", "shopping", "amazon.com amazon.de media-amazon.com", "www m api"),
)
