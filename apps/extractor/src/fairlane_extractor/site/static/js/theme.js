// Runs before the first paint, so that a chosen theme does not flash. The console has the same key.
{
  const theme = localStorage.getItem("fairlane.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
