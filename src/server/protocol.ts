import { Failure } from '../base/failure.ts'
import { version } from '../base/version.ts'
import { identityFor, manifestOf, wireVersion } from '../chp/manifest.ts'
import { headOf, keepAnchor, keepRevocation, keepWitness, revocationsOf, statementsIn } from '../chp/statements.ts'
import { parseAs } from '../model/parse.ts'
import { wireId } from '../model/wire/correlation.ts'
import { replayQuery } from '../model/wire/result.ts'
import type { Health } from '../model/wire/wire.ts'
import { attestationFor, checkChain, countEvents, exportFor, replay } from '../runtime/evidence/reading.ts'
import { readerOf } from '../runtime/identity/caller.ts'
import { always } from './answer.ts'
import { queryOf, readBody, readQuery } from './input.ts'
import type { Answer, Route, RouteRequest } from './route.ts'

type More = Partial<Pick<Route, 'public' | 'body' | 'query' | 'answers'>>

/** A route by its path, the schema of its answer, what it is for, and what gives the answer. */
const route =
  (method: Route['method']) =>
  (path: string, schema: string, summary: string, handle: Route['handle'], { answers, ...more }: More = {}): Route => ({
    ...{ method, path, summary, handle, ...more },
    answers: { 200: { schema }, ...answers },
  })
const get = route('GET')
const post = route('POST')

const error: Answer = { schema: 'wire-error' }
const metricsType = 'text/plain; version=0.0.4'

const hostRoutes: readonly Route[] = [
  get('/', 'health', 'Says that the host is there.', health, { public: true }),
  get('/health', 'health', 'Says that the host is there.', health, { public: true }),
  {
    method: 'GET',
    path: '/v1/ready',
    summary: 'Says whether the host can take calls: 204, or 503 while its store cannot be used.',
    public: true,
    answers: { 204: [], 503: [] },
    handle: async ({ ready }) =>
      new Response(null, { status: (await ready()) === undefined ? 204 : 503, headers: always }),
  },
  get(
    '/.well-known/chp-identity',
    'identity-document',
    'The keys of the host, for everybody.',
    ({ ambit, host }) => identityFor(ambit, host),
    { public: true },
  ),
  get('/host', 'host-descriptor', 'The manifest of the host, with what this caller may call.', ({ ambit, host, by }) =>
    manifestOf(ambit, host, by),
  ),
  get('/capabilities', 'capability-list', 'What this caller may call.', ({ host, by }) => ({
    capabilities: host.gateway.discover(by),
  })),
  {
    method: 'GET',
    path: '/metrics',
    summary: 'Counts of what the server did, in the text form of Prometheus.',
    answers: { 200: { type: metricsType } },
    handle: async ({ ambit, host: { tenant }, counts, concurrency }) => {
      const text = counts(tenant).text({ inFlight: concurrency.size(tenant), events: await countEvents(ambit, tenant) })
      return new Response(text, { headers: { ...always, 'content-type': metricsType } })
    },
  },
]

const correlationEvents = 'The events of one correlation; an unknown one has none.'

const evidenceRoutes: readonly Route[] = [
  get('/replay/:correlation', 'replay-result', correlationEvents, replayPath, {
    query: ['limit', 'since_sequence', 'include_payloads'],
  }),
  post('/replay', 'replay-result', correlationEvents, async (asked) => replayFor(asked, await readBody(asked)), {
    body: 'replay-query',
  }),
  get('/verify/:correlation', 'chain-report', 'Whether the chain of one correlation holds.', verifyCorrelation, {
    answers: { 404: error },
  }),
  {
    method: 'GET',
    path: '/export/:correlation',
    summary: 'The signed bundle of one correlation; with `format=dsse` as an attestation.',
    query: ['format'],
    answers: { 200: [{ schema: 'evidence-bundle' }, { schema: 'dsse-envelope' }], 403: error, 404: error },
    handle: exportCorrelation,
  },
]

/** Lists statements, page by page. A limit that is no number is refused as one that is out of range. */
const list = (name: 'witnesses' | 'anchors', kind: 'witness' | 'anchor', summary: string): Route => {
  const handle = async (asked: RouteRequest) => {
    const { items, ...next } = await statementsIn(asked.ambit, asked.host, kind, readQuery(asked, 'page-request'))
    return { [name]: items, ...next }
  }
  return get(`/${name}`, `${kind}-list`, summary, handle, { query: ['limit', 'cursor'] })
}

/** Keeps a statement of a witness whom this host knows; an administrator may bring that of any. */
const keep = (keeping: typeof keepWitness | typeof keepAnchor) => async (asked: RouteRequest) => {
  const { ambit, host, caller } = asked
  const known = caller.rights.includes('administer') ? 'any' : host.current().witnessPins
  return keeping(ambit, host, await readBody(asked), known)
}

const refusals = { 400: error, 409: error }

/** Heads, and what others have signed about this host. None of it is an event: that would move the head. */
const statementRoutes: readonly Route[] = [
  {
    ...get('/head', 'store-head', 'The head of the store, for a witness to countersign.', ({ ambit, host }) =>
      headOf(ambit, host),
    ),
    // The other scheme is answered with this one all the same.
    query: ['scheme'],
  },
  post('/witness', 'witness-receipt', 'Keeps what a witness says of this host, if it is so.', keep(keepWitness), {
    body: 'chain-witness',
    answers: { ...refusals, 403: error },
  }),
  list('witnesses', 'witness', 'What witnesses have said, page by page.'),
  post('/anchors', 'anchor-receipt', 'Keeps a head that was countersigned outside, if it is ours.', keep(keepAnchor), {
    body: 'store-head-anchor',
    answers: { ...refusals, 403: error },
  }),
  list('anchors', 'anchor', 'Heads that were countersigned outside, page by page.'),
  post(
    '/revocations',
    'revocation-receipt',
    'Keeps the revocation of a mandate.',
    async (asked) => keepRevocation(asked.ambit, asked.host, await readBody(asked)),
    { body: 'mandate-revocation', answers: refusals },
  ),
  get('/revocations', 'revocation-list', 'Keys and mandates that are not to be believed any more.', (asked) =>
    revocationsOf(asked.ambit, asked.host),
  ),
]

/** The paths of the Capability Host Protocol, besides that of its calls. */
export const protocolRoutes: readonly Route[] = [...hostRoutes, ...evidenceRoutes, ...statementRoutes]

function health({ host }: RouteRequest): Health {
  return { status: 'ok', host_id: host.hostId, protocol: 'chp', version: wireVersion, host_version: version }
}

function replayPath(asked: RouteRequest) {
  const { correlation_id, ...query } = readQuery(asked, 'replay-query')
  if (correlation_id === undefined) return replayFor(asked, { ...query, correlation_id: asked.param('correlation') })
  const pointer = '/correlation_id'
  throw new Failure('field.invalid', `query: \`${pointer}\` stands in the path already`, { pointer })
}

const replayFor = ({ ambit, caller }: RouteRequest, query: unknown) =>
  replay(ambit, readerOf(caller), parseAs(replayQuery, query, 'query'))

const correlationOf = (asked: RouteRequest): string => parseAs(wireId, asked.param('correlation'), 'correlation id')

function verifyCorrelation(asked: RouteRequest) {
  return checkChain(asked.ambit, asked.host.hostId, readerOf(asked.caller), correlationOf(asked))
}

function exportCorrelation(asked: RouteRequest): Promise<object> {
  const { ambit, host, caller } = asked
  const [reader, correlation] = [readerOf(caller), correlationOf(asked)]
  const format = queryOf(asked).get('format') ?? 'bundle'
  if (format === 'bundle') return exportFor(ambit, reader, correlation)
  if (format === 'dsse') return attestationFor(ambit, host.hostId, reader, correlation)
  throw new Failure('field.invalid', 'query: `/format` must be one of `bundle`, `dsse`', { pointer: '/format' })
}
