import { relative, resolve } from 'node:path'
import { readAllowList } from '../../adapters/egress/allow-list.ts'
import { Failure, quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import type { ServerLimits } from '../../model/config/config.ts'
import type { Upstream } from '../../model/config/upstream.ts'
import type { Policy } from '../../model/policy.ts'
import type { NamedFile } from '../hosting/config-files.ts'
import type { OfferSpec } from '../hosting/offer.ts'
import type { AmbitConfig } from './user-config.ts'

/** The part of the settings that is about hosting capabilities. Files of policies are read when they are needed. */
export interface Hosting {
  readonly port: number
  readonly hostname: string
  readonly limits: ServerLimits
  /** All that is offered, but for the policies. */
  readonly spec: Omit<OfferSpec, 'policies'>
  readonly policies: readonly (Policy | NamedFile)[]
  readonly upstreams: readonly (Upstream | NamedFile)[]
  readonly egress: { readonly allow?: readonly string[] }
  /** The folder of the configuration. */
  readonly folder: string
}

/** `name` is that of the configuration in failures. */
export function settleHosting(given: AmbitConfig, folder: string, name = 'configuration'): Hosting {
  const { policies = [], host = {}, upstreams = [], egress = {}, capabilities = [] } = given
  const { port = 4770, hostname = '127.0.0.1', limits = {}, ...rules } = host
  const named = (entry: string): NamedFile => {
    const path = resolve(folder, entry)
    return { path, name: relative(folder, path) }
  }
  for (const [index, entry] of (egress.allow ?? []).entries()) checkEgress(entry, `/egress/allow/${index}`, name)
  return {
    ...{ port, hostname, limits, folder },
    spec: { capabilities, ...defined(rules) },
    policies: policies.map((entry) => (typeof entry === 'string' ? named(entry) : entry)),
    upstreams: upstreams.map((entry) => (typeof entry === 'string' ? named(entry) : entry)),
    egress: defined(egress),
  }
}

/** Said when the configuration is read, with its place there. */
function checkEgress(entry: string, pointer: string, name: string): void {
  try {
    readAllowList([entry])
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure(error.code, `${name}: ${quote(pointer)}: ${error.message}`, { pointer }, error.help)
  }
}
