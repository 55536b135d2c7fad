import assert from 'node:assert/strict'
import { test } from 'vitest'
import { scrubText } from './redact-values.ts'

const secret = 'abc+def/ghi=jklm'

test.each([
  ['System.Text.Json', 'abc\\u002Bdef/ghi=jklm'],
  ['Gson', 'abc+def/ghi\\u003djklm'],
  ['PHP json_encode', 'abc+def\\/ghi=jklm'],
  ['JSON inside of JSON', 'abc\\\\u002Bdef\\\\/ghi=jklm'],
  ['a literal of JavaScript', 'abc\\x2bdef/ghi=jklm'],
  ['quote of Python', 'abc%2Bdef/ghi%3Djklm'],
  ['an address in an address', 'abc%252Bdef%252fghi=jklm'],
  ['an address in JSON', 'abc%2Bdef\\/ghi=jklm'],
  ['escape of JavaScript', 'abc%u002Bdef/ghi%3Djklm'],
  ['Mustache', 'abc+def&#x2F;ghi&#x3D;jklm'],
  ['html/template of Go', 'abc&#43;def/ghi=jklm'],
  ['names of HTML', 'abc&plus;def&sol;ghi&equals;jklm'],
  ['HTML in JSON', 'abc\\u0026#43;def/ghi=jklm'],
  ['Markdown', 'abc\\+def/ghi=jklm'],
  ['a JSON Pointer', 'abc+def~1ghi=jklm'],
  ['a JSON Pointer in an address', 'abc%2Bdef~1ghi=jklm'],
  ['a shell', 'abc+def/ghi\\=jklm'],
  ['Markdown in JSON', 'abc\\\\+def\\/ghi=jklm'],
  ['HTML in HTML', 'abc&amp;#43;def/ghi=jklm'],
])('a secret is hidden as written by %s, and nothing around it [H-69 H-71 H-90]', (_, form) => {
  assert.equal(scrubText(`a%20b &lt;${form}&gt; c\\n`, [secret]), 'a%20b &lt;[redacted]&gt; c\\n')
})

test('a secret is hidden whichever of its characters are escaped [H-69 H-71 H-90]', () => {
  const ways = [
    (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
    (char: string) => `%${char.charCodeAt(0).toString(16)}`,
    (char: string) => `&#${char.charCodeAt(0)};`,
  ]
  for (const way of ways)
    for (let chosen = 0; chosen < 256; chosen++) {
      const form = Array.from('a1 +/%&"', (char, index) => ((chosen >> index) & 1 ? way(char) : char)).join('')
      assert.equal(scrubText(`<${form}>`, ['a1 +/%&"']), '<[redacted]>', form)
    }
})

test('a secret that looks like escapes itself is hidden as it is and as others write it [H-69 H-71 H-90]', () => {
  const tricky = 'C:\\new%41&lt;/"é'
  const forms = [
    ...[tricky, JSON.stringify(tricky).slice(1, -1), 'C:\\\\new%41\\u0026lt;\\/\\"\\u00e9'],
    ...[encodeURIComponent(tricky), encodeURI(tricky), 'C:\\new%41&amp;lt;/&quot;&eacute;'],
  ]
  for (const form of forms) assert.equal(scrubText(`<${form}>`, [tricky]), '<[redacted]>', form)
  assert.equal(scrubText('C:\\n1234567x 5%a1b2c3d4', ['n1234567x', 'a1b2c3d4']), 'C:\\[redacted] 5%[redacted]')
})

test('a secret with a backslash beside what looks like an escape is hidden as others write it [H-69 H-71 H-90]', () => {
  for (const tricky of ['F0F\\~0b"qr', 'ab\\%2Fcd<ef', "x\\1\\axabbb'y"]) {
    const html = tricky.replace('"', '&quot;').replace('<', '&lt;').replace("'", '&#39;')
    const forms = [JSON.stringify(tricky).slice(1, -1), encodeURIComponent(tricky), html, encodeURIComponent(html)]
    for (const form of forms) assert.equal(scrubText(`<${form}>`, [tricky]), '<[redacted]>', form)
  }
})

test('a secret that holds escapes of escapes is hidden as others write it [H-69 H-71 H-90]', () => {
  for (const tricky of ['Zq7&lt;+~01u%2FwK9', 'Zq7%252F&amp;lt;wK9']) {
    const forms = [encodeURIComponent(tricky), JSON.stringify(encodeURIComponent(tricky)).slice(1, -1)]
    for (const form of forms) assert.equal(scrubText(`<${form}>`, [tricky]), '<[redacted]>', form)
  }
})

test('blanks around a password in a name and a password are no part of what is looked for [H-69 H-71 H-90]', () => {
  const pair = Buffer.from('robert: s3cretpass9 ').toString('base64')
  assert.equal(scrubText('pw=s3cretpass9;', [pair]), 'pw=[redacted];')
})

test('a backslash before or behind a secret is no part of its escapes [H-69 H-71 H-90]', () => {
  const texts: readonly (readonly [string, string, string])[] = [
    ["robert.o'neill", 'CORP\\robert.o&#39;neill', 'CORP\\[redacted]'],
    ['tom & anna 1987', 'C:\\Users\\tom &amp; anna 1987 is locked', 'C:\\Users\\[redacted] is locked'],
    ['nora@home.example', 'user=CORP\\nora%40home.example failed', 'user=CORP\\[redacted] failed'],
    ['93"6<.(F:2\\', '93&quot;6&lt;.(F:2\\" end', '[redacted]" end'],
  ]
  for (const [known, text, hidden] of texts) assert.equal(scrubText(text, [known]), hidden)
})

test('a secret that looks like a JSON Pointer is hidden as it is and in one [H-69 H-71 H-90]', () => {
  for (const form of ['a~b/c~1d~0e', 'a~0b~1c~01d~00e'])
    assert.equal(scrubText(`at /x~1y/${form}/0`, ['a~b/c~1d~0e']), 'at /x~1y/[redacted]/0', form)
})

test('a key is hidden where its underscores are escaped as in Markdown [H-69 H-71 H-90]', () => {
  const text = 'the key `sk\\_live\\_51H8xab` in C:\\keys\\sk_live_51H8xab'
  assert.equal(scrubText(text, ['sk_live_51H8xab']), 'the key `[redacted]` in C:\\keys\\[redacted]')
})

test('blanks are hidden as forms write them, and a sign for one stays what it is [H-69 H-71 H-90]', () => {
  assert.equal(scrubText('?q=a%2Bb+c+d', ['a+b c d']), '?q=[redacted]')
  assert.equal(scrubText('a b: 49', ['a+b', '+49']), 'a b: 49')
})

test('a short password is hidden where it is sent with a name [H-69 H-71 H-90]', () => {
  const basic = (text: string) => `Basic ${btoa(text)}`
  for (const password of ['pw1', 'hunter2', 'pass-wd-9', 'hunter2:x'])
    for (const form of [basic(`bob:${password}`), basic(`bob:${password}`).replace(' ', '%20').replaceAll('=', '%3D')])
      assert.match(
        scrubText(`{"authorization":"${form}"}`, [password]),
        /^\{"authorization":"Basic.{0,12}\[redacted\]"\}$/,
      )
  for (const honest of [basic('bob:hunter22'), basic('hunter2'), 'basic plan', 'Basic cGxhbg', basic('\0:pw1')])
    assert.equal(scrubText(honest, ['hunter2', 'pw1', 'plan']), honest.replace(' plan', ' [redacted]'))
})

test('a password of eight characters is hidden as bytes [H-69 H-71 H-90]', () => {
  assert.equal(scrubText(`<${Buffer.from('pass-wd8').toString('hex')}>`, ['pass-wd8']), '<[redacted]>')
  for (const before of ['', 'a', 'ab'])
    assert.match(scrubText(btoa(`${before}pass-wd8`), ['pass-wd8']), /^.{0,3}\[redacted\].{0,3}$/)
})

test('what only looks like an escape stays whole [H-69 H-71 H-90]', () => {
  const text = '100% of R&D; &nosuch; &#x110000; %zz %E9 %C3( \\q \\u12 &#;'
  assert.equal(scrubText(text, [secret, 'é']), text)
  assert.equal(scrubText('a, %20, b', ['%20']), 'a, [redacted], b')
  const escaped = 'a\\/b%2Fc&amp;d%25e'
  assert.equal(scrubText(escaped, [secret]), escaped)
})

test('a text of nothing but escapes is read no more than three times [H-69 H-71 H-90]', () => {
  assert.equal(scrubText('abc%25252Bdef/ghi=jklm', [secret]), 'abc%25252Bdef/ghi=jklm')
  const long = '%2525'.repeat(10_000)
  assert.equal(scrubText(`${long}abc%2Bdef/ghi=jklm${long}`, [secret]), `${long}[redacted]${long}`)
})

test('of a very long secret the beginning is hidden in other forms too, with all behind it [H-69 H-71 H-90]', () => {
  for (const long of ['a/'.repeat(3_000), '%2'.repeat(3_000), 'é%41'.repeat(3_000)])
    for (const form of [long, encodeURIComponent(long), JSON.stringify(long).replaceAll('/', '\\/')])
      assert.match(scrubText(`<${form}>`, [long]), /^<"?\[redacted\]$/)
})

test('of a name and a password that were kept as they are sent, the password is hidden by itself [H-69 H-71 H-90]', () => {
  for (const kept of [btoa('bob:hunter2'), `Basic ${btoa('bob:hunter2')}`])
    assert.equal(
      scrubText(`bob sent hunter2, bob:hunter2 and ${btoa('bob:hunter2')}`, [kept]),
      `bob sent [redacted], [redacted] and [redacted]`,
    )
  for (const password of ['', 'X'])
    assert.equal(scrubText('X sent key-8d1f6c', [btoa(`key-8d1f6c:${password}`)]), 'X sent [redacted]')
  assert.equal(scrubText('a plan b', [btoa('a\0:b'), btoa('abc'), 'a:b', 'YTpi!', 'basic plan']), 'a plan b')
})
