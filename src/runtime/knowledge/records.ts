import { readJson } from '../../base/json.ts'
import { limits } from '../../base/limits.ts'
import { type FileRoot, openRoot } from '../../files/root.ts'
import { unlessMissing } from '../../files/trouble.ts'
import type { ContextResolution, SelectionResult } from '../../model/knowledge/records.ts'
import { type ResolutionTrace, resolutionTrace } from '../../model/knowledge/trace.ts'
import { attempt } from './attempt.ts'

/**
 * Keeps the record of a resolution, where it has one, and its trace beside it. Nothing is ever written over. Of a very long
 * question the beginning is kept; `query_digest` of the trace is that of the whole, and so tells.
 */
export async function keepResolution(
  folder: string,
  { record, trace }: { readonly record?: ContextResolution | undefined; readonly trace: ResolutionTrace },
): Promise<void> {
  const root = await openRoot(folder, { create: true })
  if (record !== undefined) await keepJson(root, `${trace.run_id}.json`, clipped(record))
  await keepJson(root, `${trace.run_id}${traceEnd}`, clipped(trace))
}

/** The question may also stand among what is missing. */
const clipped = <T extends { readonly query?: string | undefined; readonly missing?: readonly string[] | undefined }>(
  kept: T,
): T => ({
  ...kept,
  ...(kept.query !== undefined && { query: beginning(kept.query) }),
  ...(kept.missing !== undefined && { missing: kept.missing.map(beginning) }),
})

// Half a pair of surrogates could not be read again.
const beginning = (text: string): string => text.slice(0, limits.knowledgeQueryCharsMax).toWellFormed()

const traceEnd = '.trace.json'

/** The traces kept in a folder, newest first, at most `max`; what is not one of ours is passed over. */
export async function keptTraces(folder: string, max: number): Promise<readonly ResolutionTrace[]> {
  const root = await openRoot(folder).catch(unlessMissing)
  if (root === undefined) return []
  const names = (await root.list()).filter((name) => name.startsWith('context-') && name.endsWith(traceEnd))
  const found: ResolutionTrace[] = []
  // The names begin with the time.
  for (const name of names.sort().reverse().slice(0, max)) {
    const trace = traceFrom(await root.read(name, { bytesMax: limits.jsonBytesMax }).catch(() => undefined))
    if (trace !== undefined) found.push(trace)
  }
  return found
}

const traceFrom = (bytes: Buffer | undefined): ResolutionTrace | undefined =>
  bytes && attempt(() => resolutionTrace.safeParse(readJson(bytes)).data)

/** Keeps how suites went, one file for each pack. */
export async function keepResults(
  folder: string,
  { at, suite, results }: { readonly at: string; readonly suite: string; readonly results: readonly SelectionResult[] },
): Promise<void> {
  const root = await openRoot(folder, { create: true })
  const time = at.replace(/[:.]/g, '-')
  for (const result of results) await keepJson(root, `eval-discovery-${time}-${suite}-${result.pack_name}.json`, result)
}

const keepJson = (root: FileRoot, name: string, value: unknown): Promise<unknown> =>
  root.write(name, Buffer.from(`${JSON.stringify(value, null, 2)}\n`), { exclusive: true })
