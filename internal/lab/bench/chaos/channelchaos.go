// Package channelchaos lets people write over fakes of chat platforms while the gateway, the worker, Postgres and
// Temporal are killed. By the count of the fakes, each message must be answered by one turn, and the replies must keep
// the order of the messages. Some replies are long, so that chats show them while they are written.

package chaos
