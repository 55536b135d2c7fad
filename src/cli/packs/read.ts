import { resolve } from 'node:path'
import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { defined } from '../../base/object.ts'
import { readYaml } from '../../knowledge/discover/yaml.ts'
import type { InvokeRequest, TrustedContext } from '../../model/contract/request.ts'
import { importUserModule } from '../../runtime/settings/user-module.ts'
import { jsonIn, readInput } from '../terminal/files.ts'
import type { Io } from '../terminal/io.ts'

/** A document in YAML or JSON, or the default export of a module. */
export async function readDocument(io: Io, path: string): Promise<Json> {
  if (/\.[mc]?[jt]s$/.test(path)) {
    const { exports } = await importUserModule(resolve(io.cwd, path))
    return (exports['default'] ?? null) as Json
  }
  const text = readInput(io, path)
  if (path.endsWith('.json')) return jsonIn(quote(path), text)
  const read = readYaml(text.toString(), whole)
  if ('map' in read) return read.map as Json
  throw new Failure('field.invalid', `${quote(path)}: ${read.why}`, { pointer: '' })
}

/** A request, and what trusted code says beside it. */
export interface Asked {
  readonly request: InvokeRequest
  readonly run_context?: TrustedContext
}

/** A file holds the request itself, or the request and what trusted code says beside it: what the builder prints. */
export async function readRequest(io: Io, path: string): Promise<Asked> {
  const value = (await readDocument(io, path)) as { request?: unknown; run_context?: unknown }
  const { request, run_context } = value?.request === undefined ? { request: value } : value
  return defined({ request, run_context }) as unknown as Asked
}

const whole = {
  what: 'the file',
  depthMax: limits.jsonDepthMax,
  nodesMax: limits.yamlNodesMax,
  linesMax: limits.yamlLinesMax,
}
