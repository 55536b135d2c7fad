import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, quote } from '../base/failure.ts'
import { readJson } from '../base/json.ts'
import { limits } from '../base/limits.ts'
import { parseAs } from '../model/parse.ts'
import { type Upstream, upstream as upstreamShape } from '../model/upstream.ts'

/** A file of an upstream, or a folder of such files, as the configuration names it. */
export interface UpstreamPath {
  readonly path: string
  readonly name: string
}

/** The files behind what the configuration lists, folders read in the order of their names. A folder may be made later. */
export function filesOf({ path, name }: UpstreamPath): readonly UpstreamPath[] {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined && !path.endsWith('.json')) return []
  if (!found?.isDirectory()) return [{ path, name }]
  return readdirSync(path)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => ({ path: join(path, file), name: `${name}/${file}` }))
}

/** The upstream that a file describes; otherwise `upstream.invalid`, which names the file and the place in it. */
export function readUpstream({ path, name }: UpstreamPath): Upstream {
  try {
    const value = readJson(readFileSync(path), { bytesMax: limits.upstreamFileBytesMax })
    return parseAs(upstreamShape, value, 'upstream')
  } catch (error) {
    if (error instanceof Failure) throw new Failure('upstream.invalid', `${quote(name)}: ${error.message}`, error.data)
    const { code } = error as { code?: unknown }
    throw new Failure('upstream.invalid', `${quote(name)}: the file cannot be read (${String(code)})`)
  }
}
