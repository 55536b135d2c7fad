// A server behind a real port, for tests of what only a wire can show.

import { onTestFinished } from 'vitest'
import { listen } from '../../src/server/listen.ts'
import { assertFits } from './fits.ts'
import {
  type Answered,
  type AskOptions,
  answeredBy,
  type GivenServer,
  type GivenServerOptions,
  givenServer,
  requestOf,
} from './server.ts'

export interface ServedServer extends GivenServer {
  readonly url: string
}

/** As `givenServer`, but `ask` goes over HTTP. */
export async function servedServer(options: GivenServerOptions = {}): Promise<ServedServer> {
  const given = await givenServer(options)
  const { url, close } = await listen(given.app, { port: 0 })
  onTestFinished(close)
  const ask = async (method: string, path: string, asked?: AskOptions): Promise<Answered> => {
    const answered = await answeredBy(await fetch(requestOf(url, method, path, asked)))
    if (method !== 'HEAD')
      assertFits(method, path, answered.status, answered.headers.get('content-type'), answered.text)
    return answered
  }
  return { ...given, url, ask }
}
