import { Failure } from '../base/failure.ts'
import { parseAs } from '../model/parse.ts'
import { wireId } from '../model/wire/correlation.ts'
import { replayQuery } from '../model/wire/result.ts'
import { attestationFor, checkChain, exportFor, replay } from '../runtime/evidence/reading.ts'
import { readerOf } from '../runtime/identity/caller.ts'
import { json } from './answer.ts'
import { readBody, readQuery } from './input.ts'
import type { Route, RouteRequest } from './route.ts'

export const evidenceRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/replay/:correlation',
    summary: 'The events of one correlation; an unknown one has none.',
    query: ['limit', 'since_sequence', 'include_payloads'],
    answers: { 200: { schema: 'replay-result' } },
    handle: (request) => {
      const { correlation_id, ...query } = readQuery(request, 'replay-query')
      if (correlation_id === undefined)
        return answerReplay(request, { ...query, correlation_id: request.param('correlation') })
      throw new Failure('field.invalid', 'query: `/correlation_id` stands in the path already', {
        pointer: '/correlation_id',
      })
    },
  },
  {
    method: 'POST',
    path: '/replay',
    summary: 'The events of one correlation; an unknown one has none.',
    body: 'replay-query',
    answers: { 200: { schema: 'replay-result' } },
    handle: async (request) => answerReplay(request, await readBody(request)),
  },
  {
    method: 'GET',
    path: '/verify/:correlation',
    summary: 'Whether the chain of one correlation holds.',
    answers: { 200: { schema: 'chain-report' }, 404: { schema: 'wire-error' } },
    handle: async (request) =>
      json(await checkChain(request.ambit, request.host.hostId, readerOf(request.caller), correlationOf(request))),
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
    handle: answerExport,
  },
]

const answerReplay = async ({ ambit, caller }: RouteRequest, query: unknown): Promise<Response> =>
  json(await replay(ambit, readerOf(caller), parseAs(replayQuery, query, 'query')))

async function answerExport(request: RouteRequest): Promise<Response> {
  const { ambit, host } = request
  const [reader, correlation] = [readerOf(request.caller), correlationOf(request)]
  const format = request.query().get('format') ?? 'bundle'
  if (format === 'bundle') return json(await exportFor(ambit, reader, correlation))
  if (format === 'dsse') return json(await attestationFor(ambit, host.hostId, reader, correlation))
  throw new Failure('field.invalid', 'query: `/format` must be one of `bundle`, `dsse`', { pointer: '/format' })
}

const correlationOf = (request: RouteRequest): string => parseAs(wireId, request.param('correlation'), 'correlation id')
