import { headOf, keepAnchor, keepRevocation, keepWitness, revocationsOf, statementsIn } from '../chp/statements.ts'
import type { Offer } from '../runtime/hosting/offer.ts'
import { json } from './answer.ts'
import { readBody } from './body.ts'
import { pageOf, pageQuery } from './page.ts'
import type { Route, VisitorAsk } from './route.ts'

const error = { schema: 'wire-error' }
const refusals = { 400: error, 409: error }

/** Whose statements are kept of those that come with this request. */
const knownTo = ({ deps: { host }, visitor }: VisitorAsk): Offer['witnessPins'] =>
  visitor.administers ? 'any' : host.current().witnessPins

async function listed(ask: VisitorAsk, name: 'witnesses' | 'anchors'): Promise<Response> {
  const kind = name === 'anchors' ? 'anchor' : 'witness'
  const { items, ...next } = await statementsIn(ask.deps.ambit, ask.deps.host, kind, pageOf(ask))
  return json({ [name]: items, ...next })
}

/** Heads, and what others have signed about this host. None of it is an event: that would move the head. */
export const statementRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/head',
    summary: 'The head of the store, for a witness to countersign.',
    // The other scheme is answered with this one all the same.
    query: ['scheme'],
    answers: { 200: { schema: 'store-head' } },
    handle: async ({ deps: { ambit, host } }) => json(await headOf(ambit, host)),
  },
  {
    method: 'POST',
    path: '/witness',
    summary: 'Keeps what a witness says of this host, if it is so.',
    body: 'chain-witness',
    answers: { 200: { schema: 'witness-receipt' }, ...refusals, 403: error },
    handle: async (ask) => json(await keepWitness(ask.deps.ambit, ask.deps.host, await readBody(ask), knownTo(ask))),
  },
  {
    method: 'GET',
    path: '/witnesses',
    summary: 'What witnesses have said, page by page.',
    query: pageQuery,
    answers: { 200: { schema: 'witness-list' } },
    handle: (ask) => listed(ask, 'witnesses'),
  },
  {
    method: 'POST',
    path: '/anchors',
    summary: 'Keeps a head that was countersigned outside, if it is ours.',
    body: 'store-head-anchor',
    answers: { 200: { schema: 'anchor-receipt' }, ...refusals, 403: error },
    handle: async (ask) => json(await keepAnchor(ask.deps.ambit, ask.deps.host, await readBody(ask), knownTo(ask))),
  },
  {
    method: 'GET',
    path: '/anchors',
    summary: 'Heads that were countersigned outside, page by page.',
    query: pageQuery,
    answers: { 200: { schema: 'anchor-list' } },
    handle: (ask) => listed(ask, 'anchors'),
  },
  {
    method: 'POST',
    path: '/revocations',
    summary: 'Keeps the revocation of a mandate.',
    body: 'mandate-revocation',
    answers: { 200: { schema: 'revocation-receipt' }, ...refusals },
    handle: async (ask) => json(await keepRevocation(ask.deps.ambit, ask.deps.host, await readBody(ask))),
  },
  {
    method: 'GET',
    path: '/revocations',
    summary: 'Keys and mandates that are not to be believed any more.',
    answers: { 200: { schema: 'revocation-list' } },
    handle: async ({ deps: { ambit, host } }) => json(await revocationsOf(ambit, host)),
  },
]
