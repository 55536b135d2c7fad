import { distinct, type Form, type Found, searchIn } from './found.ts'

/** Lines that hold an obvious secret, and of which kind; never any part of it. */
export function findSecrets(text: string): readonly Found[] {
  const { all } = searchIn(text)
  const formed = all(forms, ([value]) => !stands(value))
  const lines = new Set(formed.map(({ line }) => line))
  const connections = all([connection], ([, value = '']) => isReal(value))
  const assigned = all([assignment], ([, quoted = '', value = '']) => (quoted === '' ? isStrong(value) : isReal(value)))
  // What a form has named already is not named again by the word in front of it.
  return distinct([...formed, ...connections, ...assigned.filter(({ line }) => !lines.has(line))])
}

// Every repetition has an upper bound, and long ones begin only where a word does: a long line costs time in proportion
// to its length.
const forms: readonly Form[] = [
  { kind: 'a private key', form: /-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----/g },
  { kind: 'an AWS access key', form: /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g },
  { kind: 'a GitHub token', form: /\bgh[oprsu]_[0-9A-Za-z]{36,255}|\bgithub_pat_[0-9A-Za-z_]{40,255}/g },
  { kind: 'a GitLab token', form: /\bglpat-[\w-]{20,255}/g },
  {
    kind: 'a Slack token',
    form: /\bxox[abeprs]-[0-9A-Za-z-]{20,255}|hooks\.slack\.com\/services\/T\w{6,20}\/B\w{6,20}\/\w{16,40}/g,
  },
  { kind: 'a model provider key', form: /\bsk-(?:proj-|ant-|svcacct-|or-)?[\w-]{20,255}/g },
  { kind: 'a Google API key', form: /\bAIza[\w-]{35}/g },
  { kind: 'a payment key', form: /\b[rs]k_live_[0-9A-Za-z]{16,255}/g },
  { kind: 'an npm token', form: /\bnpm_[0-9A-Za-z]{36}/g },
  { kind: 'a signed token (JWT)', form: /(?<![\w-])eyJ[\w-]{10,4000}\.eyJ[\w-]{10,8000}\.[\w-]{16,2000}/g },
]

const connection: Form = {
  kind: 'a connection string with a password',
  form: /\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s:/@"'`<>]{0,64}:([^\s:/@"'`]{3,128})@[\w.[-]/gi,
}

const assignment: Form = {
  kind: 'a password or key that is written out',
  form: /(?:passw(?:or)?d|passphrase|secret|api[ _-]?key|access[ _-]?key|private[ _-]?key|auth[ _-]?token|access[ _-]?token)["'`*]{0,2}[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}(["'`]?)([^\s"'`,;)\]}]{8,200})/gi,
}

/** Has letters and digits, and no sign of standing for something else. */
const isReal = (value: string): boolean => /\d/.test(value) && /[a-z]/i.test(value) && !stands(value)

/** Without quotes, it could be the name of something: a real one mixes more. */
const isStrong = (value: string): boolean =>
  isReal(value) && !/^[\w.$]+\(|^[a-z_$][\w$]*(?:\.[\w$]+)+$/i.test(value) && mixture(value) >= 3

const mixture = (value: string): number => [/[a-z]/, /[A-Z]/, /\d/, /[^\w.]/].filter((kind) => kind.test(value)).length

/** Stands for a value: examples, names to be filled in, variables, masks, one character over and over. */
const stands = (value: string): boolean =>
  /example|sample|placeholder|change[_-]?me|redacted|dummy|your|foobar|hunter2|test|secret|passw|0{6}|x{4}|\*{3}|\.{3}|…|[<>{}$%]|abc123|12345|process\.env/i.test(
    value,
  ) || new Set(value.replace(/^.{0,12}[_-]/, '')).size <= 4
