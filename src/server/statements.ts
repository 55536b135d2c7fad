import { headOf, keepAnchor, keepRevocation, keepWitness, revocationsOf, statementsIn } from '../chp/statements.ts'
import type { Offer } from '../runtime/hosting/offer.ts'
import { json } from './answer.ts'
import { readBody, readQuery } from './input.ts'
import type { Route, RouteRequest } from './route.ts'

const error = { schema: 'wire-error' }
const refusals = { 400: error, 409: error }

/** The witnesses whose statements are kept when they come with this request. */
const knownTo = ({ host, caller }: RouteRequest): Offer['witnessPins'] =>
  caller.rights.includes('administer') ? 'any' : host.current().witnessPins

/** Lists statements, page by page. */
const list = (name: 'witnesses' | 'anchors', kind: 'witness' | 'anchor', summary: string): Route => ({
  method: 'GET',
  path: `/${name}`,
  summary,
  query: ['limit', 'cursor'],
  answers: { 200: { schema: `${kind}-list` } },
  handle: async (request) => {
    // A limit that is no number is refused as one that is out of range.
    const { ambit, host } = request
    const { items, ...next } = await statementsIn(ambit, host, kind, readQuery(request, 'page-request'))
    return json({ [name]: items, ...next })
  },
})

/** Heads, and what others have signed about this host. None of it is an event: that would move the head. */
export const statementRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/head',
    summary: 'The head of the store, for a witness to countersign.',
    // The other scheme is answered with this one all the same.
    query: ['scheme'],
    answers: { 200: { schema: 'store-head' } },
    handle: async ({ ambit, host }) => json(await headOf(ambit, host)),
  },
  {
    method: 'POST',
    path: '/witness',
    summary: 'Keeps what a witness says of this host, if it is so.',
    body: 'chain-witness',
    answers: { 200: { schema: 'witness-receipt' }, ...refusals, 403: error },
    handle: async (request) =>
      json(await keepWitness(request.ambit, request.host, await readBody(request), knownTo(request))),
  },
  list('witnesses', 'witness', 'What witnesses have said, page by page.'),
  {
    method: 'POST',
    path: '/anchors',
    summary: 'Keeps a head that was countersigned outside, if it is ours.',
    body: 'store-head-anchor',
    answers: { 200: { schema: 'anchor-receipt' }, ...refusals, 403: error },
    handle: async (request) =>
      json(await keepAnchor(request.ambit, request.host, await readBody(request), knownTo(request))),
  },
  list('anchors', 'anchor', 'Heads that were countersigned outside, page by page.'),
  {
    method: 'POST',
    path: '/revocations',
    summary: 'Keeps the revocation of a mandate.',
    body: 'mandate-revocation',
    answers: { 200: { schema: 'revocation-receipt' }, ...refusals },
    handle: async (request) => json(await keepRevocation(request.ambit, request.host, await readBody(request))),
  },
  {
    method: 'GET',
    path: '/revocations',
    summary: 'Keys and mandates that are not to be believed any more.',
    answers: { 200: { schema: 'revocation-list' } },
    handle: async ({ ambit, host }) => json(await revocationsOf(ambit, host)),
  },
]
