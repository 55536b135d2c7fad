import { needsApproval, type Permissions } from '../../knowledge/gates.ts'
import type { Pack } from '../../knowledge/pack.ts'
import { makeRouter, type Router } from '../../knowledge/route/route.ts'
import { promptsOf } from '../../knowledge/route/suite.ts'
import type { SelectionSuite } from '../../model/knowledge/records.ts'
import { type SuiteReader, trainSuite } from './suites.ts'

export interface RoutingOptions {
  /** False where packs must be known by their catalog entries alone: their prompts are what is measured. */
  readonly prompts?: boolean
}

export type RouterFor = (packs: readonly Pack[], permissions: Permissions, options?: RoutingOptions) => Promise<Router>

/** Finds the packs that a question is about; made again only when a header or a train suite has changed. */
export function makeRouting(suites: SuiteReader): RouterFor {
  let known: { readonly facts: readonly unknown[]; readonly router: Router } | undefined
  return async (packs, permissions, { prompts = true } = {}) => {
    const learned: (SelectionSuite | undefined)[] = []
    for (const pack of packs)
      learned.push(
        prompts && !needsApproval(pack, permissions) ? (await suites.selection(pack, 'train'))?.suite : undefined,
      )
    const facts = packs.flatMap(({ id, digest }, at) => [id, digest, learned[at]])
    if (known === undefined || !isSame(known.facts, facts))
      known = { facts, router: makeRouter(packs.map((pack, at) => routableOf(pack, learned[at]))) }
    return known.router
  }
}

const isSame = (left: readonly unknown[], right: readonly unknown[]): boolean =>
  left.length === right.length && left.every((fact, at) => fact === right[at])

function routableOf({ id, header }: Pack, suite: SelectionSuite | undefined) {
  const { name, description, language } = header
  return {
    id,
    name,
    description,
    language,
    ...promptsOf(suite === undefined ? [] : [{ path: trainSuite, suite }], true),
  }
}
