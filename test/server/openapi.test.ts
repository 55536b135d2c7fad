import assert from 'node:assert/strict'
import { test } from 'vitest'
import { contracts } from '../../src/model/schemas.ts'
import { routes } from '../../src/server/routes.ts'
import { document } from '../support/fits.ts'
import { givenServer } from '../support/server.ts'

test('every route is in the document and nothing else; what it names is there, of our own schemas [H-02]', async () => {
  const described = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{([a-z]+)\}/g, ':$1')}`),
  )
  assert.deepEqual(described.sort(), routes.map(({ method, path }) => `${method} ${path}`).sort())
  const named = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([a-z-]+)"/g)].map(
    ([, name = '']) => name,
  )
  assert.deepEqual([...new Set(named)].sort(), Object.keys(document.components.schemas).sort())
  for (const name of named) assert(contracts[name], name)
  const ids = Object.values<Record<string, { operationId: string }>>(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  assert.equal(new Set(ids).size, routes.length)
  const { ask } = await givenServer()
  assert.deepEqual((await ask('GET', '/v1/openapi.json')).body, document)
})
