import { quote } from '../../base/failure.ts'
import { isJsonObject, type JsonObject } from '../../base/object.ts'
import { broken, listOf, type OpenApi, pointerOf, textOf } from './document.ts'

/** Where the server of a document is. What is given replaces an address, and completes one that is only a part. */
export function serverOf({ root }: OpenApi, given: string | undefined): string {
  const [first] = listOf(root['servers'])
  const said = isJsonObject(first) ? addressOf(first) : ''
  const url = given !== undefined && /^[a-z]+:/i.test(said) ? URL.parse(given) : URL.parse(said, given)
  if (url === null || !/^https?:$/.test(url.protocol) || /[{}]/.test(said))
    throw broken(pointerOf('servers', 0, 'url'), `is ${quote(said)}, no address by itself: say where the server is`)
  return (url.origin + url.pathname).replace(/\/$/, '')
}

/** The address with the defaults of its variables. */
export function addressOf({ url, variables }: JsonObject): string {
  return textOf(url).replace(/\{([^{}]*)\}/g, (place, name: string) => {
    const variable = isJsonObject(variables) && Object.hasOwn(variables, name) ? variables[name] : undefined
    return isJsonObject(variable) ? textOf(variable['default']) : place
  })
}
