// The world outside: a process that counts what is done in it. Every effect gets a receipt that no other has.
//   POST /<key>   one effect; answers its receipt        GET /<key>   how many there were        GET /   all of them

import { createServer } from 'node:http'

const counts = new Map<string, number>()
let receipts = 0

const server = createServer((request, response) => {
  const key = decodeURIComponent(request.url ?? '/').slice(1)
  if (request.method === 'POST') {
    counts.set(key, (counts.get(key) ?? 0) + 1)
    response.end(String(++receipts))
  } else response.end(JSON.stringify(key === '' ? Object.fromEntries(counts) : (counts.get(key) ?? 0)))
})

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
})
