// What `import 'ambit/client'` gives: a typed client of a host, for Node and for browsers.

export type { Json } from '../base/canonical.ts'
export type { FailureCode } from '../base/codes.ts'
export { Failure } from '../base/failure.ts'
export { type Client, type ConnectOptions, connect, type StreamEvent } from './connect.ts'
