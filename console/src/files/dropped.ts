// Reads dropped files, including files in folders where the browser supports it.

/** The upper limit of files in one drop: a larger drop is probably a mistake. */
export const MOST = 10_000;

export interface Found {
  readonly files: readonly File[];
  /** The drop holds more files than the limit. */
  readonly isCut: boolean;
}

export const holdsFiles = (data: DataTransfer | null): data is DataTransfer =>
  data?.types.includes("Files") ?? false;

/** Return the files of a drop; call it while the event is handled. */
export function dropped(data: DataTransfer): Promise<Found> {
  const items = [...data.items].filter((item) => item.kind === "file");
  const entries = items.map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());
  return gather(entries.filter((one) => one !== null));
}

/** Return the files of a chosen folder without hidden files. */
export function chosen(files: Iterable<File>): Found {
  const seen = [...files].filter((file) => !file.webkitRelativePath.split("/").some(isHidden));
  const ordered = seen.sort((one, other) => compare(pathOf(one), pathOf(other)));
  return { files: ordered.slice(0, MOST), isCut: ordered.length > MOST };
}

const pathOf = (file: File): string => file.webkitRelativePath || file.name;
const isHidden = (name: string): boolean => name.startsWith(".");
const compare = (one: string, other: string): number =>
  one.localeCompare(other, undefined, { numeric: true });

async function gather(entries: readonly (FileSystemEntry | File)[]): Promise<Found> {
  const files: File[] = [];
  const todo = [...entries];
  while (todo.length > 0 && files.length <= MOST) {
    const next = todo.shift()!;
    if (next instanceof File) files.push(next);
    else if (next.isFile) files.push(await fileOf(next as FileSystemFileEntry));
    else if (next.isDirectory) todo.unshift(...(await within(next as FileSystemDirectoryEntry)));
  }
  return { files: files.slice(0, MOST), isCut: files.length > MOST };
}

/** Return the entries of a folder, sorted by name. */
async function within(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) break; // a browser returns at most 100 entries per call
    found.push(...some);
  }
  return found
    .filter((entry) => !isHidden(entry.name))
    .sort((one, other) => compare(one.name, other.name));
}

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));
