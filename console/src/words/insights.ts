export const en = {
  "insights.title": "Insights",
};

export const zh: Record<keyof typeof en, string> = {
  "insights.title": "洞察",
};
