// A task with its parameters in a form, for a lane or a schedule.

import { listTasks } from "../../api/calls";
import { asProblem, type Problem } from "../../api/problem";
import type { Task } from "../../api/types";
import { sortProblems } from "../../forms/problems";
import { initial, readAll } from "../../forms/values";
import { type FormField, fieldsOf } from "../../forms/schema";
import { messagesOf } from "../../forms/messages";
import type { LaneCall } from "../../api/lanes";
import { secretsIn } from "./copying";

export class CallDraft {
  tasks: readonly Task[] | null = $state.raw(null);
  values: Record<string, string> = $state({});
  problems: Readonly<Record<string, string>> = $state.raw({});
  /** The problem that belongs to no field. */
  general: Problem | null = $state.raw(null);
  rest: readonly string[] = $state.raw([]);
  #name = $state("");
  #given: LaneCall | null = null;

  readonly task: Task | undefined = $derived(this.tasks?.find((one) => one.name === this.#name));
  readonly fields: readonly FormField[] = $derived(this.task ? fieldsOf(this.task.parameters) : []);

  /** Read the tasks, and begin with a call or with a task of this queue. */
  async load(given: LaneCall | null, queue: string | undefined): Promise<void> {
    this.#given = given;
    try {
      const { items } = await listTasks();
      this.tasks = items;
    } catch (error) {
      this.general = asProblem(error);
      return;
    }
    const usual = this.tasks.find((one) => one.queue === queue) ?? this.tasks[0];
    this.choose((this.tasks.find((one) => one.name === given?.task) ?? usual)?.name ?? "");
  }

  choose(name: string): void {
    this.#name = name;
    this.values = initial(this.fields, this.#given?.task === name ? this.#given.params : {});
    this.clear();
  }

  /** Saved secrets: they are masked, so the user must enter them again. */
  get secrets(): readonly string[] {
    return this.#given && this.#given.task === this.#name ? secretsIn(this.#given.params) : [];
  }

  clear(): void {
    this.problems = {};
    this.rest = [];
    this.general = null;
  }

  /** Return the entered call; null if a field cannot be parsed, which is then shown. */
  read(): LaneCall | null {
    this.clear();
    if (!this.task) return null;
    const { params, problems } = readAll(this.fields, this.values);
    this.problems = messagesOf(problems);
    return Object.keys(problems).length > 0 ? null : { task: this.task.name, params };
  }

  /** Show the problems of a response at their fields. */
  refuse(error: unknown, others: readonly string[] = []): void {
    const problem = asProblem(error);
    const names = [...this.fields.map((one) => one.name), ...others];
    const { fields, rest } = sortProblems(problem.problems, names);
    this.problems = fields;
    this.rest = rest;
    this.general = Object.keys(fields).length + rest.length > 0 ? null : problem;
  }
}
