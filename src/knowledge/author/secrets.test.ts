import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import { findSecrets } from './secrets.ts'
import { textFindings } from './text-findings.ts'

// Put together here, so that no scanner takes this file for a leak.
const body = (length: number, from = 'aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYz'): string =>
  Array.from({ length }, (_, index) => from[(index * 7) % from.length]).join('')
const upper = body(16, 'Q7WERT5YUIO3PASD')

const real: readonly (readonly [string, string])[] = [
  ['a private key', `-----BEGIN ${'RSA PRIVATE'} KEY-----`],
  ['a private key', `-----BEGIN ${'PRIVATE'} KEY-----`],
  ['an AWS access key', `${'AK'}IA${upper}`],
  ['a GitHub token', `${'gh'}p_${body(36)}`],
  ['a GitHub token', `${'github'}_pat_${body(60)}`],
  ['a GitLab token', `${'gl'}pat-${body(20)}`],
  ['a Slack token', `${'xo'}xb-${body(30)}`],
  ['a model provider key', `${'s'}k-proj-${body(40)}`],
  ['a Google API key', `${'AI'}za${body(35)}`],
  ['a payment key', `${'sk'}_live_${body(24)}`],
  ['an npm token', `${'np'}m_${body(36)}`],
  ['a signed token (JWT)', `${'ey'}J${body(20)}.${'ey'}J${body(40)}.${body(30)}`],
  ['a connection string with a password', `postgres://app:${body(12)}@db.internal/orders`],
  ['a password or key that is written out', `password = "${body(12)}"`],
  ['a password or key that is written out', `DB_PASSWORD=${body(14)}!`],
  ['a password or key that is written out', `"api_key": "${body(24)}"`],
]

test.each(real)('%s is found, with its line, and no part of it is told [K-90]', (kind, secret) => {
  const text = `# Notes\n\nfirst\r\n${secret}\n`
  assert.deepEqual(findSecrets(text), [{ line: 4, kind }])
  const [finding] = textFindings({ path: 'sources/notes.md', text })
  assert.deepEqual([finding?.code, finding?.severity, finding?.path], ['secret-found', 'error', 'sources/notes.md'])
  assert.match(finding?.message ?? '', /^line 4: looks like /)
  for (let at = 0; at + 8 <= secret.length; at++) {
    const part = secret.slice(at, at + 8)
    if (/\d/.test(part)) assert(!finding?.message.includes(part), part)
  }
})

test.each([
  ['password: your-password-here1'],
  ['password = "<password>"'],
  ['password = process.env.DB_PASSWORD1'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable that is filled in elsewhere
  ['postgres://app:${PASSWORD}@db/orders'],
  ['postgres://user:password@localhost/db'],
  [`${'AK'}IAIOSFODNN7EXAMPLE`],
  ['token: getToken2(config.Value)'],
  ['Choose a password: at least 8 characters'],
  ['api_key: sha256'],
  ['https://example.org:8080/path@2'],
  [`${'gh'}p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`],
  ['secret = ********1a'],
])('what only stands for a secret is left alone: %s [K-90]', (text) => {
  assert.deepEqual(findSecrets(text), [])
})

test('a secret is found wherever it stands in a file, in files that are never context too [K-90]', () => {
  const secret = `${'gh'}p_${body(36)}`
  const words = fc.stringMatching(/^[a-z ]{0,40}$/)
  fc.assert(
    fc.property(fc.array(words, { maxLength: 5 }), words, (before, beside) => {
      const text = [...before, `${beside} ${secret}`].join('\n')
      assert.deepEqual(findSecrets(text), [{ line: before.length + 1, kind: 'a GitHub token' }])
    }),
  )
  assert.equal(textFindings({ path: 'evals/files/a.txt', text: secret }).length, 1)
})

test('a file full of secrets is counted, not listed without end [K-90]', () => {
  const findings = textFindings({ path: 'sources/dump.txt', text: `${'AK'}IA${upper}\n`.repeat(250) })
  assert.equal(findings.length, 101)
  assert.equal(findings.at(-1)?.message, 'and 150 more such places')
})
