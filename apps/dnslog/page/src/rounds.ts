// Work that is repeated while the page is visible.

/** Call `work` every so many seconds, and at once when the page becomes visible again. */
export function repeat(work: () => Promise<void>, seconds: number): void {
  let isRunning = false;
  let isDue = false;

  async function round(): Promise<void> {
    if (document.hidden) {
      isDue = true;
      return;
    }
    if (isRunning) return;
    isRunning = true;
    isDue = false;
    try {
      await work();
    } finally {
      isRunning = false;
    }
  }

  setInterval(() => void round(), seconds * 1000);
  document.addEventListener("visibilitychange", () => {
    if (isDue) void round();
  });
}
