import { relative, resolve } from 'node:path'
import { readAllowList } from '../../adapters/egress/allow-list.ts'
import { Failure, quote } from '../../base/failure.ts'
import { defined, isObject } from '../../base/object.ts'
import { asModel } from '../../models/ai-sdk.ts'
import type { Planner } from '../../runs/plan/planner.ts'
import type { Model } from '../../runs/turn.ts'
import type { NamedFile } from '../hosting/config-files.ts'
import type { OfferSpec } from '../hosting/offer.ts'
import type { AmbitConfig } from './user-config.ts'

/** The part of the settings that is about hosting capabilities. Files of policies are read when they are needed. */
export type Hosting = Readonly<ReturnType<typeof settleHosting>>

/** `name` is that of the configuration in failures. */
export function settleHosting(given: AmbitConfig, folder: string, name = 'configuration') {
  const {
    policies = [],
    host = {},
    upstreams = [],
    egress = {},
    capabilities = [],
    agents = [],
    providers = [],
  } = given
  const { models = {}, planners = {}, prices = {}, protect = [], ceilings = {} } = given
  const { port = 4770, hostname = '127.0.0.1', limits = {}, ...rules } = host
  const named = <T>(entry: string | T): NamedFile | T => {
    if (typeof entry !== 'string') return entry
    const path = resolve(folder, entry)
    return { path, name: relative(folder, path) }
  }
  for (const [index, entry] of (egress.allow ?? []).entries()) checkEgress(entry, `/egress/allow/${index}`, name)
  /** All that is offered, but for the policies. */
  const spec: Omit<OfferSpec, 'policies'> = { capabilities, ...defined(rules) }
  return {
    ...{ port, hostname, limits, spec },
    /** That of the configuration. */
    folder,
    policies: policies.map(named),
    upstreams: upstreams.map(named),
    egress: defined(egress),
    agents: agents.map(named),
    ...{ providers, prices, protect, ceilings },
    models: Object.fromEntries(Object.entries(models).map(([name, model]) => [name, asModel(model)])),
    planners: Object.fromEntries(Object.entries(planners).map(([name, planner]) => [name, asPlanner(name, planner)])),
  }
}

/** A planner as it is, or a model that is asked for plans. */
function asPlanner(name: string, value: unknown): Planner | Model {
  if (name === 'playbook' || name === 'model')
    throw new Failure('config.invalid', `planners: ${quote(name)} is there already`, {}, 'give it another name')
  const isOwn = isObject(value) && typeof value['id'] === 'string' && typeof value['plan'] === 'function'
  return isOwn ? (value as unknown as Planner) : asModel(value)
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
