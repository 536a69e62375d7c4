import { defineConfig } from "vite";

// Flask's templates name the two files, so their names are fixed.
export default defineConfig({
  build: {
    outDir: "../src/fairlane_dnslog/web/static/built",
    emptyOutDir: true,
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // The pages are served with a policy that allows no inline script and no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: "src/main.ts",
      output: { entryFileNames: "page.js", assetFileNames: "page[extname]" },
    },
  },
});
