// What `import 'ambit/client'` gives: a typed client of a host, for Node and for browsers.

export type { Json } from '../base/canonical.ts'
export { Failure } from '../base/failure.ts'
export type { FailureCode } from '../base/failure-codes.ts'
export type * from '../operations/ambit.ts'
export { type ConnectOptions, connect } from './connect.ts'
export { connectHost, type HostClient, type HostOptions, type StreamEvent } from './host.ts'
