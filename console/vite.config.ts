import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// `npm run dev` uses a running server; by default the one of `make run`.
const server = process.env.FAIRLANE_URL ?? "http://127.0.0.1:8420";

export default defineConfig({
  plugins: [svelte()],
  // Relative addresses, so that the page works under every prefix.
  base: "./",
  build: {
    outDir: "../src/fairlane/console",
    emptyOutDir: true,
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    // The page is served with a policy that allows no inline script and no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: {
      "/api": {
        target: server,
        changeOrigin: true,
        // The server accepts requests from its own pages only; the proxy makes this page one of them.
        configure: (proxy) => {
          proxy.on("proxyReq", (request) => request.setHeader("origin", server));
        },
      },
    },
  },
  test: { include: ["src/**/*.test.ts"] },
});
