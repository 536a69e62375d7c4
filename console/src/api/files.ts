// Upload of files and download of artifacts.

import { address, failed, path, unreachable } from "./client";
import type { Uploaded } from "./types";

/** Upload a file and report the number of bytes sent. The server chooses the stored name. */
export function uploadFile(
  file: File,
  onsent: (bytes: number) => void,
  signal: AbortSignal,
): Promise<Uploaded> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const request = new XMLHttpRequest(); // fetch reports no upload progress
    request.open("POST", address("/api/files", { name: file.name }));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.responseType = "json";
    request.upload.onprogress = ({ loaded }) => onsent(loaded);
    request.onload = () => {
      if (request.status === 201) resolve(request.response as Uploaded);
      else reject(failed(request.status, request.response, request.statusText));
    };
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(signal.reason);
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}

/** Return the address of an artifact by its index in the job's list. */
export const artifactAddress = (job: string, number: number): string =>
  address(path`/api/jobs/${job}/artifacts/${String(number)}`);

/**
 * Let the browser download an artifact. A first request reports problems that the browser would
 * hide.
 */
export async function fetchArtifact(job: string, number: number): Promise<void> {
  const url = artifactAddress(job, number);
  const answer = await fetch(url, { headers: { Range: "bytes=0-0" } }).catch(() => {
    throw unreachable();
  });
  const isEmpty = answer.status === 416;
  if (!answer.ok && !isEmpty)
    throw failed(answer.status, await answer.json().catch(() => undefined), answer.statusText);
  const link = document.createElement("a");
  link.href = url;
  link.download = "";
  link.click();
}
