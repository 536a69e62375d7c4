// The Chinese texts of messages that the server writes without a code.

/** @type {[RegExp, string][]} */
const NEEDS = [
  [/^limit "(.+)"$/, "限额“$1”"],
  [/^1 of "recogniser"$/, "空闲的识别程序"],
  [/^(\d+) of "(.+)"$/, "$1 份“$2”"],
];

/** @type {[RegExp, string | ((...parts: string[]) => string)][]} */
const MESSAGES = [
  [/^waits for (\d+) other jobs to complete$/, "等待另外 $1 个任务完成"],
  [/^waits for (.+)$/, (_, needs = "") =>
    `等待${needs.split(/, (?=limit "|\d+ of ")/).map((need) => translated(need, NEEDS)).join("、")}`],
  [/^try (\d+) in ([\d.]+) s after: (.*)$/s, "$2 秒后第 $1 次尝试，上次出错：$3"],
  [/^stage "(?:.+?)": (.*)$/s, (_, rest = "") => chineseMessage(rest)],
  [/^needs 1 of "recogniser": (\d+) of (\d+) in use$/, "识别程序都在使用中（$1/$2）"],
  [/^needs (\d+) of "(.+)": (\d+) of (\d+) in use$/, "需要 $1 份“$2”，已占用 $3/$4"],
  [/^queue "(.+)" runs (\d+) of (\d+)$/, "队列“$1”正在运行 $2 个任务（最多 $3 个）"],
  [/^queue "(.+)" is paused$/, "队列“$1”已暂停"],
  [/^every suitable worker is busy: (\d+) of (\d+) slots in use$/, "所有工作进程都在忙（$1/$2）"],
  [/^its worker checks whether it can start$/, "正在检查能否开始"],

  [/^reading the file$/, "正在读取文件"],
  [/^reading (https?:\S+)$/i, "正在读取 $1"],
  [/^reading (.+)$/, "正在读取：$1"],
  [/^loading (.+)$/, "正在加载 $1"],
  [/^joining the streams$/, "正在合并音视频"],
  [/^(\d+:\d\d) of the sound$/, "声音已处理到 $1"],
  [/^read (\d+) s of the video$/, "视频已读取 $1 秒"],
  [/^([\d.]+ MiB) of ([\d.]+ MiB)$/, "$1，共 $2"],

  [/^speech is switched off for this task$/, "此任务已关闭语音识别"],
  [/^text on frames is switched off$/, "此任务已关闭画面文字识别"],
  [/^the subtitles have the spoken text$/, "字幕已包含所说的内容"],
  [/^the media has no pictures$/, "媒体没有画面"],
];

/**
 * Return the Chinese text of a message, or the message itself if it is not known.
 * @param {string} message
 */
export const chineseMessage = (message) => translated(message, MESSAGES);

/**
 * @param {string} message
 * @param {[RegExp, string | ((...parts: string[]) => string)][]} patterns
 */
function translated(message, patterns) {
  const [pattern, text] = patterns.find(([known]) => known.test(message)) ?? [];
  if (pattern === undefined || text === undefined) return message;
  return typeof text === "string" ? message.replace(pattern, text) : message.replace(pattern, text);
}
