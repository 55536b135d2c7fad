/** The failures that are no condition of one noun, with the HTTP status that answers each. */
const general = { overloaded: 503, unauthenticated: 401, internal: 500 } as const

/** All others by noun. A code is `noun.condition`; this and the line above are the one table of codes and statuses. */
const byNoun = {
  json: { invalid: 400, too_large: 413 },
  payload: { too_large: 413 },
  body: { late: 408 },
  media: { unsupported: 415 },
  version: { unsupported: 400 },
  route: { not_found: 404 },
  method: { not_allowed: 405 },
  rate: { limited: 429 },
  number: { unsafe: 400 },
  field: { missing: 400, unknown: 400, invalid: 400 },
  id: { invalid: 400 },
  cursor: { invalid: 400 },
  canonical: { unsupported: 422 },
  config: { invalid: 422, not_found: 404, exists: 409 },
  caller: { not_permitted: 403 },
  origin: { not_permitted: 403 },
  tenant: { not_found: 404, exists: 409, mismatch: 403, suspended: 403 },
  principal: { not_found: 404, exists: 409, inactive: 403 },
  permission: { not_found: 404 },
  key: { not_found: 404, exists: 409, invalid: 422, locked: 403, permissions: 403 },
  secret: { not_found: 404, invalid: 422 },
  grant: {
    invalid: 400,
    limit: 400,
    list_invalid: 400,
    outside_root: 403,
    no_root: 403,
    protected: 403,
    outside_parent: 403,
    not_mintable: 403,
    expired: 403,
    revoked: 403,
    missing: 403,
  },
  agent: { not_found: 404, not_active: 403 },
  manifest: { invalid: 400 },
  template: { invalid: 400 },
  resource: {
    unknown_kind: 422,
    mode_unsupported: 422,
    tool_conflict: 422,
    read_only: 403,
    ceiling: 403,
    scope_denied: 403,
    scope_violation: 502,
    provider_failed: 502,
    provider_timeout: 504,
  },
  memory: { not_found: 404, superseded: 409, content_invalid: 400, too_large: 413, conflict: 409 },
  scratchpad: { limit: 400 },
  session: { busy: 409 },
  run: { not_found: 404, finished: 409, depth_exceeded: 422, taken: 409, limit: 422 },
  pipeline: { iterations_exceeded: 422 },
  model: { failed: 502, limited: 503, invalid: 502 },
  args: { invalid: 400 },
  request: { conflict: 409, id_conflict: 409 },
  reserved: { name: 400 },
  event: { not_found: 404, conflict: 409 },
  correlation: { not_found: 404, in_use: 409 },
  record: { not_found: 404, move_invalid: 409 },
  replay: { pack_unavailable: 422, snapshot_collected: 410, envelope_mismatch: 409, transcript_broken: 409 },
  contract: { invalid: 422 },
  capability: { invalid: 422, not_found: 404, unsurfaced: 403 },
  call: { in_progress: 503 },
  invocation: { not_found: 404 },
  answer: { invalid: 502 },
  host: { unreachable: 503, closed: 503 },
  upstream: { invalid: 422 },
  bundle: { invalid: 422 },
  pack: {
    not_found: 404,
    exists: 409,
    ref_unpinned: 422,
    refs_empty: 422,
    ref_kind: 422,
    tenant_mismatch: 403,
    signature_invalid: 422,
    binding_unresolved: 422,
    incompatible: 409,
    expired: 409,
    conflict: 409,
    unsafe: 422,
  },
  intent: { unknown: 422, channel_unsupported: 422, locale_unsupported: 422 },
  mandatory: { block_over_budget: 422 },
  delegation: { required: 403, invalid: 403 },
  artifact: { not_found: 404, exists: 409 },
  attachment: { forbidden: 403, hash_mismatch: 422 },
  trace: { invalid: 400 },
  blob: { not_found: 404, too_large: 413, corrupt: 500 },
  claim: { taken: 409, not_found: 404, invalid: 401 },
  budget: { exceeded: 409 },
  approval: { not_found: 404, used: 409, stale: 409, expired: 410, self: 403 },
  approver: { not_permitted: 403, not_found: 404, exists: 409 },
  lease: { taken: 409, lost: 409 },
  witness: { invalid: 400 },
  anchor: { invalid: 400 },
  revocation: { invalid: 400, head_mismatch: 409 },
  statement: { limit: 409 },
  head: { mismatch: 409, conflict: 409 },
  file: {
    outside_root: 403,
    not_found: 404,
    exists: 409,
    invalid: 422,
    permissions: 403,
    too_large: 413,
    busy: 503,
    conflict: 409,
    unavailable: 503,
  },
  backup: { invalid: 422 },
  policy: { invalid: 422, eval_error: 422 },
  schema: { not_found: 404 },
  store: { not_empty: 409, too_new: 409, busy: 503, unavailable: 503 },
} as const

type Nouns = typeof byNoun

export type FailureCode =
  | keyof typeof general
  | { [Noun in keyof Nouns]: `${Noun}.${keyof Nouns[Noun] & string}` }[keyof Nouns]

const dotted = Object.entries(byNoun).flatMap(([noun, conditions]) =>
  Object.entries(conditions).map(([condition, status]) => [`${noun}.${condition}`, status]),
)

/** Every failure code and the HTTP status that answers it. */
export const statusOf: Readonly<Record<FailureCode, number>> = { ...general, ...Object.fromEntries(dotted) }

/** The spelling of a code on every wire, in every file and in evidence: an underscore stands for the dot. */
export const wireCode = (code: FailureCode): string => code.replace('.', '_')

/** How the Capability Host Protocol spells a code, where it has a word of its own. */
export const protocolCode = (code: FailureCode): string => protocolCodes[code] ?? wireCode(code)

/** The failure that an error answer stands for, by either spelling: of several the first; undefined if unknown. */
export function failureCode(spelled: string, status: number): FailureCode | undefined {
  const codes = [...Object.keys(protocolCodes), ...Object.keys(statusOf)] as FailureCode[]
  const fitting = codes.filter((code) => protocolCode(code) === spelled || wireCode(code) === spelled)
  return fitting.find((code) => statusOf[code] === status) ?? fitting[0]
}

const protocolCodes: Partial<Record<FailureCode, string>> = {
  'json.invalid': 'invalid_json',
  'number.unsafe': 'invalid_json',
  'field.invalid': 'bad_request',
  'field.missing': 'bad_request',
  'field.unknown': 'bad_request',
  'payload.too_large': 'too_large',
  'json.too_large': 'too_large',
  'media.unsupported': 'unsupported_media_type',
  'route.not_found': 'not_found',
  'correlation.not_found': 'not_found',
  unauthenticated: 'unauthorized',
  'origin.not_permitted': 'forbidden',
  overloaded: 'server_at_capacity',
  'store.busy': 'server_at_capacity',
  'store.unavailable': 'server_at_capacity',
  'host.closed': 'server_at_capacity',
  'file.busy': 'server_at_capacity',
  'file.unavailable': 'server_at_capacity',
  'call.in_progress': 'in_progress',
  'witness.invalid': 'invalid_witness',
  'anchor.invalid': 'invalid_anchor',
  'revocation.invalid': 'invalid_revocation',
  internal: 'internal_error',
}
