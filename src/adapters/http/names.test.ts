import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import type { Json } from '../../base/canonical.ts'
import type { HttpRequestTemplate, HttpUpstream } from '../../model/config/upstream.ts'
import { checkHttp } from './check.ts'
import { foldedName } from './names.ts'
import { fillRequest } from './request.ts'

type Method = HttpRequestTemplate['method']
type Place = 'query' | 'header' | 'cookie'

const url = 'http://a.example'
const fixed = { query: { api_key: 'k' }, headers: { cookie: 'sid=s', 'x-api-key': 'k' } }

const check = (name: string, place: Place, method: Method = 'GET') =>
  checkHttp({
    name: 'depot',
    server: { url, ...fixed },
    capabilities: [
      { request: { method, path: '/', parameters: [{ name, in: place, from: 'a' }] }, descriptor: { id: 'depot.a' } },
    ],
  } as unknown as HttpUpstream)

const fill = (place: Place, value: Record<string, string>, name = 'prefs') => {
  const parameters = ['ключ', 'имя', 'filter[by]', 'lang', name].map((one) => ({ name: one, in: place, from: one }))
  return fillRequest({ method: 'GET', path: '/', parameters }, { url, ...fixed }, { [name]: value })
}

const alike = {
  query: [
    'api_key',
    'API_KEY',
    'api.key',
    'api key',
    'api_key[]',
    'api_key[a',
    'api_key ',
    ' api-key',
    'api%5fkey',
    'api[key',
    'api_key\0x',
  ],
  cookie: ['sid', 'SID', ' sid', '%20sid', '%2520sid', 'sid[x]', 'sid\0', 'sid\0x'],
} as const

test.each([
  ...alike.query.map((name) => ['query', name] as const),
  ...alike.cookie.map((name) => ['cookie', name] as const),
])('in the %s no input stands beside a fixed name as %j [H-90]', async (place, name) => {
  assert.throws(() => check(name, place), { code: 'upstream.invalid' })
  await expect(fill(place, { [name]: 'x' })).rejects.toMatchObject({ code: 'request_invalid' })
})

test.each(['query', 'cookie'] as const)(
  'in the %s a member is no other parameter and no method, however it is written [H-90]',
  async (place) => {
    for (const name of ['LANG', 'lang[]', '_method', '_METHOD', ' _method', 'filter', 'filter[by]'])
      await expect(fill(place, { [name]: 'x' }), name).rejects.toMatchObject({ code: 'request_invalid' })
    for (const name of ['key', 'method', 'prefs', 'язык', '100%'])
      await expect(fill(place, { [name]: 'x' }), name).resolves.toBeDefined()
  },
)

test('parameters that read alike are still sent, each by its own name [H-90]', async () => {
  const parameters = ['sort[by]', 'sort[dir]', 'a.b', 'a_b'].map((name) => ({ name, in: 'query', from: name }) as const)
  const input = { 'sort[by]': '1', 'sort[dir]': '2', 'a.b': '3', a_b: '4' }
  const { url: sent } = await fillRequest({ method: 'GET', path: '/', parameters }, { url }, input)
  assert.deepEqual(Object.fromEntries(sent.searchParams), input)
})

test.each(['application/x-www-form-urlencoded', 'multipart/form-data'])(
  'a body of %s holds no method, and nothing that reads as what every query has [H-90]',
  async (type) => {
    const send = (b: Json) =>
      fillRequest({ method: 'POST', path: '/', body: { from: 'b', type } }, { url, ...fixed }, { b })
    for (const name of ['_method', '_METHOD', '_method[]', ...alike.query])
      await expect(send({ a: '1', [name]: 'x' }), name).rejects.toMatchObject({ code: 'request_invalid' })
    for (const name of ['method', 'sid', 'key', 'x-api-key'])
      await expect(send({ [name]: 'x' }), name).resolves.toBeDefined()
  },
)

test('names in a body that is no form may be the reserved ones [H-90]', async () => {
  const send = (b: Json, type: string) =>
    fillRequest({ method: 'POST', path: '/', body: { from: 'b', type } }, { url, ...fixed }, { b })
  for (const b of [[{ api_key: 'x' }], { a: { _method: 'x' } }, '_method', { api_key: 'x', _method: 'y' }])
    await expect(send(b, 'application/json')).resolves.toBeDefined()
  await expect(send('api_key', 'text/plain')).resolves.toBeDefined()
})

test('no parameter is a method [H-90]', () => {
  for (const place of ['query', 'cookie'] as const)
    for (const name of ['_method', '_Method', ' _method', '_method[]'])
      assert.throws(() => check(name, place, 'POST'), { code: 'upstream.invalid' })
  assert.doesNotThrow(() => check('method', 'query', 'POST'))
})

test.each([
  ...['X-Real-IP', 'True-Client-IP', 'CF-Connecting-IP', 'x-client-ip', 'x-original-host', 'X-Host'],
  ...['x-original-method', 'Content-Encoding', 'x_forwarded_for', 'X_Real-IP', 'x_http_method', 'x_api_key'],
])('no input sets the header %s [H-90]', (name) => {
  assert.throws(() => check(name, 'header'), { code: 'upstream.invalid' })
})

test('no input sets the key under which a change is sent once; what only reads has none of ours [H-90]', () => {
  for (const name of ['Idempotency-Key', 'idempotency_key'])
    assert.throws(() => check(name, 'header', 'POST'), { code: 'upstream.invalid' })
  assert.doesNotThrow(() => check('Idempotency-Key', 'header', 'GET'))
})

test('names of other scripts stay apart [H-90]', () => {
  const names = ['ключ', 'имя', '名前', '鍵', 'é', 'e']
  assert.equal(new Set(names.map((name) => foldedName(encodeURIComponent(name)))).size, names.length)
  assert.equal(foldedName(encodeURIComponent('Ключ')), foldedName('ключ'))
})

test('a name with very many blanks inside is read as fast as any [H-90]', () => {
  assert.equal(foldedName(` a${' '.repeat(500_000)}b \0`).length, 500_002)
})
