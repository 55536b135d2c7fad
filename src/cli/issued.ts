import type { IssuedKey } from '../model/key.ts'
import { type Io, line, paint, printJson } from './io.ts'

/** The one time a key is shown. */
export function printIssued(io: Io, { json }: { readonly json?: boolean }, issued: IssuedKey): void {
  if (json) printJson(io, issued)
  else printOnce(io, issued)
}

function printOnce(io: Io, issued: IssuedKey): void {
  line(io, `key ${issued.key_id} for \`${issued.principal_id}\`, shown this once:`)
  line(io)
  line(io, `  ${paint(io, 'bold', issued.secret)}`)
  line(io)
  line(io, 'keep it like a password; put it into AMBIT_KEY to use it here')
}
