import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'vitest'
import type { Json } from '../../base/canonical.ts'
import { marksOf } from './marks.ts'
import { isSensitiveName } from './names.ts'
import { allMarked, nothingMarked as none, redact, scrubText, scrubValue, secretsIn } from './redact-values.ts'

const at = (...pointers: string[]) => marksOf({ schema: {}, pointers })

test('sensitive names are whole words of a key, however it is written [H-69 H-71]', () => {
  const names = [
    ...['password', 'PASSWORD', 'db_password', 'passwordHint', 'passwords', 'pass-phrase passphrase', 'clientSecret'],
    ...['access_token', 'accessToken', 'access-token', 'Token', 'apiKey', 'APIKey', 'api_key2', 'key', 'x-api-key'],
    ...['Authorization', 'set-cookie', 'cookies', 'credential', 'awsCredentials', 'secrets', 'token1', '2key'],
    ...['national_id', 'nationalId', 'card', 'card_number', 'accountId', 'birth_date', 'birthDate', 'birthdate'],
    'dateOfBirth',
  ]
  for (const name of names) assert.equal(isSensitiveName(name), true, name)
})

test('sensitive names are not parts of words, plurals that count, or the names of our own shapes [H-69 H-71]', () => {
  const names = [
    ...[
      'completion_tokens',
      'tokens',
      'keys',
      'monkey',
      'keyboard',
      'passwordless',
      'secretary',
      'discard',
      'accounting',
    ],
    ...['national', 'id', 'nationality_id', 'id_national', 'birth', 'date', 'keynote', 'cardinal', ''],
    ...['key_id', 'public_key', 'enc_public_key', 'idempotency_key', 'decision_key', 'credentials_ref'],
    ...['old_key_id', 'old_public_key', 'new_key_id', 'new_public_key'],
  ]
  for (const name of names) assert.equal(isSensitiveName(name), false, name)
  assert.equal(isSensitiveName('keyId'), true)
  for (let n = 0; n < 5000; n++) assert.equal(isSensitiveName(`${n}${'x'.repeat(n % 80)}_token`), true)
  assert.equal(isSensitiveName('later_token'), true)
})

test('redaction leaves a value without secrets alone, and says so [H-69 H-71 H-50]', () => {
  const value = { a: [1, 'x', null, true, { b: {} }], completion_tokens: 7 }
  assert.deepEqual(redact(value, none), { value, redacted: false })
})

test('redaction copies only what leads to something hidden [H-69 H-71 H-50]', () => {
  const plain = { d: [null, 'e'], f: { g: 1 } }
  const list = [plain, { token: 'x' }]
  assert.equal(redact(plain, none, ['zzzz']).value, plain)
  const { value: copy } = redact(list, none)
  assert(Array.isArray(copy))
  assert.equal(copy[0], plain)
  assert.deepEqual(copy[1], { token: '[redacted]' })
  assert.deepEqual(list[1], { token: 'x' })
})

test('redaction hides values of sensitive names, whatever they are [H-69 H-71 H-50]', () => {
  const value = { token: 'x', deep: { password: { a: 1 } }, list: [{ key: null }], fine: 1 }
  assert.deepEqual(redact(value, none), {
    value: { token: '[redacted]', deep: { password: '[redacted]' }, list: [{ key: '[redacted]' }], fine: 1 },
    redacted: true,
  })
})

test('redaction hides marked places; a star is any item or member [H-69 H-71 H-50]', () => {
  const value = { a: { b: 'x', c: 'y' }, list: [{ n: 1, m: 2 }, { n: 3 }], 'x/y~z': 1 }
  assert.deepEqual(redact(value, at('/a/b')).value, { ...value, a: { b: '[redacted]', c: 'y' } })
  assert.deepEqual(redact(value, at('/a/*')).value, { ...value, a: { b: '[redacted]', c: '[redacted]' } })
  assert.deepEqual(redact(value, at('/list/*/n')).value, {
    ...value,
    list: [{ n: '[redacted]', m: 2 }, { n: '[redacted]' }],
  })
  assert.deepEqual(redact(value, at('/list/*')).value, { ...value, list: ['[redacted]', '[redacted]'] })
  assert.deepEqual(redact(value, at('/x~1y~0z')).value, { ...value, 'x/y~z': '[redacted]' })
  assert.deepEqual(redact(value, at('')), { value: '[redacted]', redacted: true })
  assert.deepEqual(redact(value, allMarked), { value: '[redacted]', redacted: true })
  assert.deepEqual(redact(value, at('/absent', '/a/b/c')), { value, redacted: false })
  assert.deepEqual(redact({ '': 1 }, at('/')), { value: { '': '[redacted]' }, redacted: true })
})

test('redaction finds every text of a secret wherever it turns up: values, keys, URLs and JSON in text [H-69 H-71 H-50]', () => {
  const secrets = ['Tromsø 88', 'a"b']
  const value = {
    note: 'for Tromsø 88.',
    url: 'https://x/?q=Troms%C3%B8%2088&r=Troms%C3%B8+88',
    inner: '{"q":"a\\"b"}',
    'Tromsø 88': 1,
    plain: 'Tromsø',
  }
  assert.deepEqual(redact(value, none, secrets), {
    value: {
      note: 'for [redacted].',
      url: 'https://x/?q=[redacted]&r=[redacted]',
      inner: '{"q":"[redacted]"}',
      '[redacted]': 1,
      plain: 'Tromsø',
    },
    redacted: true,
  })
})

test('a secret inside of bytes in base64 is hidden, wherever it begins and however long it is [H-69 H-71 H-90]', () => {
  for (const secret of ['tok-8d1f6c', 'tøk?>~~~~~????', 'k'.repeat(48), `long-${'0123456789'.repeat(30)}`])
    for (const before of ['', 'a', 'ab', 'Bearer '])
      for (const encoding of ['base64', 'base64url'] as const) {
        const text = scrubText(Buffer.from(`${before}${secret} and so on`).toString(encoding), [secret])
        // Of the secret at most the characters remain that it shares with its neighbours.
        assert.match(text, /^.{0,11}\[redacted\].{0,16}$/)
      }
  assert.equal(scrubText(btoa('a short1'), ['short1']), btoa('a short1'))
})

test('a secret is hidden in every form in which it is sent [H-69 H-71 H-90]', () => {
  const secret = 'pa55!word (2026)*~é/'
  const strict = 'pa55%21word%20%282026%29%2A~%C3%A9%2F'
  const lower = (text: string) => text.replace(/%../g, (code) => code.toLowerCase())
  const forms = [
    ...[secret, encodeURIComponent(secret), strict, strict.replace('%20', '+')],
    ...[new URLSearchParams({ k: secret }).toString().slice(2), Buffer.from(secret).toString('hex')],
    Buffer.from(secret).toString('hex').toUpperCase(),
  ]
  for (const form of [...forms, ...forms.map(lower)])
    assert.equal(scrubText(`/v1?key=${form}&a=b`, [secret]), '/v1?key=[redacted]&a=b', form)
  assert.equal(scrubText('?k=pa55%21word%282026%29%2A', ['pa55!word(2026)*']), '?k=[redacted]')
})

test('a result is rid of secrets in texts, numbers and names, and of nothing else [H-69 H-71 H-90]', () => {
  const result = { id: 4071882213, near: 407188221, list: [1.5, true, null], k4071882213: 'x' }
  assert.deepEqual(scrubValue(result, ['4071882213']), {
    id: '[redacted]',
    near: 407188221,
    list: [1.5, true, null],
    'k[redacted]': 'x',
  })
  assert.equal(scrubValue(result, ['hunter2hunter2']), result)
})

test('a number that is secret is hidden as number and in text [H-69 H-71 H-50]', () => {
  assert.deepEqual(redact({ n: 204417, m: 20441, t: 'B-204417' }, none, ['204417']), {
    value: { n: '[redacted]', m: 20441, t: 'B-[redacted]' },
    redacted: true,
  })
})

test('a short secret is hidden where it stands as a word [H-69 H-71 H-50]', () => {
  assert.equal(scrubText('pin 123, not 41234 nor x123', ['123']), 'pin [redacted], not 41234 nor x123')
  assert.equal(scrubText('the admin of the administration', ['admin']), 'the [redacted] of the administration')
  assert.equal(scrubText('x1234567 a12345678b', ['1234567', '12345678']), 'x1234567 a[redacted]b')
  assert.equal(scrubText('?q=to%20hunter2&r=hunter2s', ['hunter2']), '?q=to%20[redacted]&r=hunter2s')
  assert.equal(scrubText('{"a":"to\\nhunter2"}', ['hunter2']), '{"a":"to\\n[redacted]"}')
})

test('a number is hidden only if the whole of it is a secret [H-69 H-71 H-90]', () => {
  const value = { n: 912345678, m: 1234, k: 4123456789, t: 'x 1234' }
  assert.deepEqual(scrubValue(value, ['1234', '12345678']), { ...value, m: '[redacted]', t: 'x [redacted]' })
  assert.deepEqual(redact({ n: 912345678 }, none, ['12345678']), { value: { n: 912345678 }, redacted: false })
})

test('a secret is hidden as others write it back [H-69 H-71 H-90]', () => {
  const secret = 'a/b&c<d>"e\'f é%?'
  const plain = encodeURIComponent(secret)
  const forms = [
    ...['a\\/b&c<d>\\"e\'f é%?', 'a/b\\u0026c\\u003cd\\u003e\\"e\'f é%?', 'a\\/b&c<d>\\"e\'f \\u00e9%?'],
    ...['a/b&amp;c&lt;d&gt;&quot;e&#39;f é%?', 'a/b&amp;c&lt;d&gt;&quot;e&#x27;f é%?'],
    ...[encodeURI(secret), encodeURIComponent(plain), encodeURIComponent(plain.toLowerCase())],
  ]
  for (const form of forms) assert.equal(scrubText(`<${form}>`, [secret]), '<[redacted]>', form)
  assert.equal(scrubText('key s3cretvalue99, sent', [' s3cretvalue99 \n']), 'key [redacted], sent')
  assert.deepEqual(scrubValue([40718822], ['40718822\n']), ['[redacted]'])
  const long = 'a/'.repeat(1_000)
  assert.equal(scrubText(`<${long.replaceAll('/', '\\/')}>`, [long]), '<[redacted]>')
})

test('of several secrets the longest goes first, and their letters are no patterns [H-69 H-71 H-50]', () => {
  assert.equal(scrubText('abcdefgh-ijkl', ['abcdefgh', 'abcdefgh-ijkl']), '[redacted]')
  assert.equal(scrubText('1+1=2 (x) [y] a.c axc', ['(x) [y] a.c', '1+1=2']), '[redacted] [redacted] axc')
  const ascii = String.fromCharCode(...Array.from({ length: 95 }, (_, index) => index + 32))
  assert.equal(scrubText(`<${ascii}>`, [ascii]), '< [redacted]>')
  for (const sign of ascii) assert.equal(scrubText(`<a${sign}b${sign}c>`, [`a${sign}b${sign}c`]), '<[redacted]>', sign)
  assert.equal(scrubText('nothing', []), 'nothing')
  assert.equal(scrubText('nothing', ['']), 'nothing')
  assert.equal(scrubText('a \ud800 b', ['\ud800 b']), 'a [redacted]')
})

test('secrets that overlap go as one, so that no half of any remains [H-69 H-71 H-50]', () => {
  assert.equal(scrubText('<abcdefghijkl>', ['abcdefghi', 'efghijkl']), '<[redacted]>')
  assert.equal(scrubText('<aaaaaaaaa>', ['aaaaaaaa']), '<[redacted]>')
  assert.equal(scrubText('abcdefghijklmnop', ['abcdefgh', 'ijklmnop']), '[redacted][redacted]')
  assert.equal(scrubText('say redacted', ['redacted', 'reda', 'say']), '[redacted] [redacted]')
  assert.equal(scrubText('𝐀12 12𝐀 12😀', ['12']), '𝐀12 12𝐀 [redacted]😀')
})

test('a secret of any length is hidden: of a very long one the beginning is enough, and nothing behind it stays [H-69 H-71 H-50]', () => {
  const long = 'é😀'.repeat(250_000)
  assert.equal(scrubText(`no ${long.slice(1, 60)} here`, [long]), `no ${long.slice(1, 60)} here`)
  for (const text of [long, JSON.stringify(long), encodeURIComponent(long), `${long.slice(0, 5_000)}…`])
    assert.match(scrubText(`before ${text} behind`, [long]), /^before "?\[redacted\]$/)
  for (const count of [4_095, 4_096])
    assert.equal(scrubText(`<${'x'.repeat(count)}>`, ['x'.repeat(count)]), '<[redacted]>')
  assert.equal(scrubText(`<${'x'.repeat(4_097)}>`, ['x'.repeat(4_097)]), '<[redacted]')
  assert.equal(scrubText(`<${'x'.repeat(4_096)}>`, ['x'.repeat(4_097), 'x'.repeat(4_096)]), '<[redacted]')
})

test('of more secrets than can be looked for nothing is let through [H-69 H-71 H-50]', () => {
  const secrets = (count: number) => Array.from({ length: count }, (_, index) => String(1_000_000 + index))
  assert.equal(scrubText('for 1000007.', secrets(9_362)), 'for [redacted].')
  assert.equal(scrubText('for anything.', secrets(9_363)), '[redacted]')
  assert.deepEqual(redact({ a: ['b', 7] }, none, secrets(60_000)), {
    value: { '[redacted]': ['[redacted]', '[redacted]'] },
    redacted: true,
  })
})

test('looking for many secrets finds what looking for each of them would [H-69 H-71 H-50]', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 40 })
  const words = fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 12 }), { maxLength: 8 })
  fc.assert(
    fc.property(letters, words, (text, secrets) => {
      const hidden = Array.from(text, () => false)
      for (const secret of secrets)
        for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + 1)) {
          const isWord = !/[ab]/.test(`${text[at - 1] ?? ''}${text[at + secret.length] ?? ''}`)
          if (secret.length > 7 || isWord) hidden.fill(true, at, at + secret.length)
        }
      const kept = Array.from(text, (letter, index) => (hidden[index] ? '' : letter)).join('')
      assert.equal(scrubText(text, secrets).replaceAll('[redacted]', ''), kept)
    }),
  )
})

test('the secrets of a call are the texts below its marks and sensitive names [H-69 H-71 H-50]', () => {
  const payload: Json = {
    consignee: 'Clinic 88',
    token: { inner: ['t-1', 42, true, null, ''] },
    list: [{ phone: '555' }, { phone: '556' }],
    batch: 'B-1',
  }
  assert.deepEqual(secretsIn(payload, at('/consignee', '/list/*/phone')), ['Clinic 88', 't-1', '42', '555', '556'])
  assert.deepEqual(secretsIn(payload, none), ['t-1', '42'])
  assert.deepEqual(secretsIn('x', allMarked), ['x'])
  assert.deepEqual(secretsIn(null, at('')), [])
})
