export { countingIds, type FakeClock, fakeClock } from './ports.ts'
export { type FreshStore, type StorageSuite, storageContract } from './storage-contract.ts'
