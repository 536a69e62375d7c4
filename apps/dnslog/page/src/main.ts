// The script of the pages. Every page works without it, except for the chart; it adds the chart,
// live parts and conveniences of the forms.

import "uplot/dist/uPlot.min.css";
import "./style/tokens.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/controls.css";
import "./style/parts.css";
import "./style/tables.css";
import "./style/overview.css";
import "./style/log.css";
import "./style/rules.css";
import "./style/status.css";
import "./style/phone.css";
import { drawCharts } from "./chart";
import { prepareForms } from "./forms";
import { startLiveParts } from "./live";
import { prepareMenus } from "./menus";

prepareMenus();
prepareForms();
drawCharts();
startLiveParts();
