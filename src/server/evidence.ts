import { Failure } from '../base/failure.ts'
import { parseAs } from '../model/parse.ts'
import { wireId } from '../model/wire/correlation.ts'
import { replayQuery } from '../model/wire/result.ts'
import { attestationFor, checkChain, exportFor, type Reader, replay } from '../runtime/evidence/reading.ts'
import { json } from './answer.ts'
import { readBody } from './body.ts'
import type { Route, VisitorAsk } from './route.ts'

export const evidenceRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/replay/:correlation',
    summary: 'The events of one correlation; an unknown one has none.',
    query: ['limit', 'since_sequence', 'include_payloads'],
    answers: { 200: { schema: 'replay-result' } },
    handle: (ask) => replayed(ask, { correlation_id: ask.param('correlation'), ...queryOf(ask) }),
  },
  {
    method: 'POST',
    path: '/replay',
    summary: 'The events of one correlation; an unknown one has none.',
    body: 'replay-query',
    answers: { 200: { schema: 'replay-result' } },
    handle: async (ask) => replayed(ask, await readBody(ask)),
  },
  {
    method: 'GET',
    path: '/verify/:correlation',
    summary: 'Whether the chain of one correlation holds.',
    answers: { 200: { schema: 'chain-report' }, 404: { schema: 'wire-error' } },
    handle: async (ask) => {
      const { ambit, host } = ask.deps
      return json(await checkChain(ambit, host.hostId, readerOf(ask), correlationOf(ask)))
    },
  },
  {
    method: 'GET',
    path: '/export/:correlation',
    summary: 'The signed bundle of one correlation; with `format=dsse` as an attestation.',
    query: ['format'],
    answers: {
      200: [{ schema: 'evidence-bundle' }, { schema: 'dsse-envelope' }],
      403: { schema: 'wire-error' },
      404: { schema: 'wire-error' },
    },
    handle: exported,
  },
]

const replayed = async (ask: VisitorAsk, query: unknown): Promise<Response> =>
  json(await replay(ask.deps.ambit, readerOf(ask), parseAs(replayQuery, query, 'query')))

async function exported(ask: VisitorAsk): Promise<Response> {
  const { ambit, host } = ask.deps
  const format = ask.query().get('format') ?? 'bundle'
  if (format === 'bundle') return json(await exportFor(ambit, readerOf(ask), correlationOf(ask)))
  if (format === 'dsse') return json(await attestationFor(ambit, host.hostId, readerOf(ask), correlationOf(ask)))
  throw new Failure('field.invalid', 'query: `/format` must be one of `bundle`, `dsse`', { pointer: '/format' })
}

/** A visitor without a name who does not read all reads nothing: no event names them. */
const readerOf = ({ deps: { host }, visitor: { caller, reads } }: VisitorAsk): Reader => ({
  tenant: host.tenant,
  subject: reads === 'all' ? null : (caller.subject?.id ?? ''),
})

const correlationOf = (ask: VisitorAsk): string => parseAs(wireId, ask.param('correlation'), 'correlation id')

/** The query with its numbers and words as what they stand for; what stands for nothing is refused like in a body. */
function queryOf(ask: VisitorAsk): Record<string, unknown> {
  const entries = [...ask.query()].map(([name, value]): [string, unknown] => [name, meant(value)])
  const query = Object.fromEntries(entries)
  if (Object.keys(query).length === entries.length && !Object.hasOwn(query, 'correlation_id')) return query
  throw new Failure('field.invalid', 'query: a member is given twice', { pointer: '' })
}

function meant(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  return /^\d{1,15}$/.test(text) ? Number(text) : text
}
