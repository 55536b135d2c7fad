import type { Upstream } from '../model/config/upstream.ts'
import { secretNames } from './secret-text.ts'

/** The server with what likely is a credential replaced, in all that it is sent with every request or given to start. */
export function replaceCredentials<T extends Upstream['server']>(
  server: T,
  replace: (name: string, credential: string) => string,
): T {
  const replaced = (texts: unknown) =>
    Object.entries<string>(texts as Readonly<Record<string, string>>).map(([name, text]) => {
      const [, scheme = '', rest = ''] = /^((?:bearer|basic|token)\s+)?(.*)$/is.exec(text) ?? []
      return [name, isCredential(name, text) ? `${scheme}${replace(name, rest)}` : text]
    })
  const fixed = Object.entries(server).filter(([member]) => ['headers', 'query', 'env'].includes(member))
  return {
    ...server,
    ...Object.fromEntries(fixed.map(([member, texts]) => [member, Object.fromEntries(replaced(texts))])),
  }
}

/** By its name or its shape. One too many does no harm: it is given all the same. */
function isCredential(name: string, text: string): boolean {
  if (secretNames([text]).length > 0 || harmless.test(text)) return false
  if (credentialName.test(name) || /^(?:bearer|basic|token)\s+\S/i.test(text)) return true
  const url = URL.parse(text)
  if (url?.host) return url.password !== '' || [...url.searchParams.keys()].some((key) => credentialName.test(key))
  return /^(?=.*[a-z])(?=.*\d)[\w.~+/=:-]{20,}$/i.test(text) && !path.test(text)
}

const credentialName =
  /auth|key|token|secret|passw|passphrase|pwd|cred|cookie|session|bearer|jwt|signature|\bpat\b|_pat$/i
const harmless = /^(?:|true|false|yes|no|on|off|none|\d{1,5})$/i
const path = /^(?:[./~]|[a-z]:[\\/])|\/[^/]*\.\w{1,5}$/i
