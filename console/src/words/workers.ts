export const en = {
  "workers.title": "Workers",
};

export const zh: Record<keyof typeof en, string> = {
  "workers.title": "工作进程",
};
