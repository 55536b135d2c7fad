import { type FailureCode, statusOf, wireCode } from './codes.ts'

/** How the Capability Host Protocol spells a code, where it has a word of its own. */
export const protocolCode = (code: FailureCode): string => own[code] ?? wireCode(code)

/**
 * The failure that an error answer stands for, by either spelling; undefined for one that we do not know. Of several
 * that the protocol spells alike it is the first below.
 */
export function failureCode(spelled: string, status: number): FailureCode | undefined {
  const codes = [...Object.keys(own), ...Object.keys(statusOf)] as FailureCode[]
  const fitting = codes.filter((code) => protocolCode(code) === spelled || wireCode(code) === spelled)
  return fitting.find((code) => statusOf[code] === status) ?? fitting[0]
}

const own: Partial<Record<FailureCode, string>> = {
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
