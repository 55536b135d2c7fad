import assert from 'node:assert/strict'
import { test } from 'vitest'
import { replaceCredentials } from './secret-text.ts'

const token = 'ghp-0a1b2c3d4e5f6a7b8c9d'
const hidden = (name: string, text: string) =>
  replaceCredentials({ command: 'a', env: { [name]: text } }, (_, credential) => `<${credential}>`).env[name]

test.each([
  ['Authorization', 'Bearer abc', 'Bearer <abc>'],
  ['X-Custom', 'basic aWRhOnB3', 'basic <aWRhOnB3>'],
  ['X-Api-Key', 'abc', '<abc>'],
  ['GITHUB_PAT', 'abc', '<abc>'],
  ['PGPASSWORD', 'hunter2', '<hunter2>'],
  ['OTHER', token, `<${token}>`],
  ['DB', 'postgres://ida:pw@db.example/x', '<postgres://ida:pw@db.example/x>'],
  ['HOOK', 'https://a.example/x?token=abc', '<https://a.example/x?token=abc>'],
])('`%s` with %j becomes a handle [H-90]', (name, text, expected) => assert.equal(hidden(name, text), expected))

test.each([
  ['API_KEY', '{secret:mine}'],
  ['AUTH_MODE', 'none'],
  ['SESSION_TIMEOUT', '30'],
  ['TOKEN', ''],
  ['X-Team', 'plants'],
  ['LOG_LEVEL', 'debug'],
  ['MEMORY_FILE_PATH', '/srv/data/project2024/memory.json'],
  ['FILE', 'data/project-2024-plans/memory.json'],
  ['BASE', 'https://api.example.com/v2/some/long/path?page=2'],
])('`%s` with %j stays as it is [H-90]', (name, text) => assert.equal(hidden(name, text), text))

test('headers and query are looked at too, and nothing else [H-90]', () => {
  const server = { url: `https://a.example/${token}`, headers: { authorization: 'abc' }, query: { key: 'abc' } }
  assert.deepEqual(
    replaceCredentials(server, (name) => name),
    {
      url: server.url,
      headers: { authorization: 'authorization' },
      query: { key: 'key' },
    },
  )
})
