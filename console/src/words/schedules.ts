export const en = {
  "schedules.title": "Schedules",
};

export const zh: Record<keyof typeof en, string> = {
  "schedules.title": "计划",
};
