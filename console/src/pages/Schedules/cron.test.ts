import { expect, it } from "vitest";
import { read } from "./cron";

it.each([
  ["* * * * *", { kind: "minutes", n: 1 }],
  ["*/15 * * * *", { kind: "minutes", n: 15 }],
  ["5 * * * *", { kind: "hourly", n: 5 }],
  ["@hourly", { kind: "hourly", n: 0 }],
  ["30 */6 * * *", { kind: "hours", n: 6, minute: 30 }],
  ["0 3 * * *", { kind: "daily", times: ["03:00"] }],
  ["15 18,6 * * *", { kind: "daily", times: ["06:15", "18:15"] }],
  ["0 9 * * 1-5", { kind: "weekdays", times: ["09:00"] }],
  ["0 9 * * MON-FRI", { kind: "weekdays", times: ["09:00"] }],
  ["0 9 * * 6,7", { kind: "weekends", times: ["09:00"] }],
  ["0 6 * * 0", { kind: "weekly", days: [0], times: ["06:00"] }],
  ["0 6 * * tue,thu", { kind: "weekly", days: [2, 4], times: ["06:00"] }],
  ["0 0 1 * *", { kind: "monthly", day: 1, times: ["00:00"] }],
  ["@yearly", { kind: "yearly", day: 1, month: 1, times: ["00:00"] }],
])("%s is simple", (expression, rhythm) => expect(read(expression)).toEqual(rhythm));

it.each([
  "*/7 * * * *", "0-30 * * * *", "0 */5 * * *", "0 9 1 * 1", "0 9 * * 5-1", "0 9 L * *",
  "0 9 * * 1#2", "0 1,2,3,4,5 * * *", "61 * * * *", "0 0 3 * * *", "",
])("%s is left as it is", (expression) => expect(read(expression)).toBeNull());
