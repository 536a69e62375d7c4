import { mount } from "svelte";
import { listen } from "./api/client";
import App from "./App.svelte";
import { feed } from "./live/feed.svelte";
import { listenForKeys } from "./shell/keyboard";
import { session } from "./shell/session.svelte";
import { theme } from "./shell/theme.svelte";
import "./style/base.css";
import "./style/tokens.css";
import { clock } from "./time/clock.svelte";
import { words } from "./words/index.svelte";

theme.apply();
words.applied();
listen({ unauthorized: () => feed.signedOut(), time: (now) => clock.set(now) });
listenForKeys();
feed.watchPage();
feed.start();
void session.read();

const target = document.getElementById("app");
if (target) mount(App, { target });
