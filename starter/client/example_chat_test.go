package client_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"cairn/starter/client"
)

func ExampleClient_Chat() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	turn, err := c.Chat(context.Background(), "trip-1", "I only fly from Osaka.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.Reply)
	// Output: Noted: you only fly from Osaka.
}

func ExampleClient_ChatStream() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	text := ""
	turn, err := c.ChatStream(context.Background(), "trip-9", "I only fly from Osaka.", func(d client.Delta) {
		if d.Reset {
			text = ""
		}
		text += d.Text
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text == turn.Reply, turn.Reply)
	// Output: true Noted: you only fly from Osaka.
}

func ExampleClient_Turn() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	message := client.TurnRequest{Conversation: "trip-2", MessageID: "m1", Text: "Good morning"}
	for range 2 { // the second call returns the reply of the first one
		turn, err := c.Turn(context.Background(), message, client.Wait(30*time.Second))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(turn.Status, turn.Turn, turn.Reply)
	}
	// Output:
	// ended 1 Hello! How can I help?
	// ended 1 Hello! How can I help?
}

// If your own agent has replied, record the exchange.
func ExampleClient_Turn_observe() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	turn, err := c.Turn(context.Background(), client.TurnRequest{Conversation: "trip-3", MessageID: "m1",
		Mode: "observe", Messages: []client.Message{
			{Role: "user", Content: "Is there a direct flight?"},
			{Role: "assistant", Content: "Yes, at 9:40."}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.Turn)
	// Output: 1
}

func ExampleClient_History() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	if _, err := c.Chat(ctx, "trip-4", "Good morning"); err != nil {
		log.Fatal(err)
	}
	lines, err := c.History(ctx, "trip-4")
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range lines {
		fmt.Println(line.Role+":", line.Content)
	}
	// Output:
	// user: Good morning
	// assistant: Hello! How can I help?
}

// Wait limits the time of a call. The turn continues afterwards.
func ExampleWait() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	turn, err := c.Chat(ctx, "trip-5", "Good morning", client.RequestID("m1"), client.Wait(0))
	if err != nil {
		log.Fatal(err)
	}
	if turn.Status != "ended" {
		turn, err = c.Chat(ctx, "trip-5", "Good morning", client.RequestID("m1")) // waits for the reply
	}
	fmt.Println(turn.Reply, err)
	// Output: Hello! How can I help? <nil>
}

// RequestID makes a call repeatable: the message gets one reply.
func ExampleRequestID() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	for range 2 {
		turn, err := c.Chat(ctx, "trip-6", "Good morning", client.RequestID("m1"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("turn", turn.Turn)
	}
	// Output:
	// turn 1
	// turn 1
}
