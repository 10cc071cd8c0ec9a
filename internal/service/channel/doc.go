// Package channel connects chat platforms: it stores what people write, passes it to their conversations, and
// sends the replies.
//
//	accept   an adapter passes an event; it is stored with a task of the outbox, then the platform may forget it
//	handle   the event becomes a message of a conversation, or a command is run; repeating it has no effect
//	stream   while a model writes a reply, the chat shows what there is of it; without a promise
//	deliver  the end of a turn stores its reply as a delivery; a workflow sends the deliveries of a chat in order
package channel
