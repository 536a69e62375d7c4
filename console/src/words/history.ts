export const en = {
  "history.title": "History",
};

export const zh: Record<keyof typeof en, string> = {
  "history.title": "历史",
};
