export const en = {
  "lanes.title": "Lanes",
};

export const zh: Record<keyof typeof en, string> = {
  "lanes.title": "通道",
};
