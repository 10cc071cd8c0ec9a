package client_test

import (
	"context"
	"fmt"
	"log"

	"cairn/starter/client"
)

func ExampleClient_Feedback() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	if _, err := c.Chat(ctx, "trip-7", "Where is my hotel?", client.RequestID("m1")); err != nil {
		log.Fatal(err)
	}
	noted, err := c.Feedback(ctx, client.FeedbackRequest{Conversation: "trip-7", MessageID: "m1",
		Correction: "It is next to Osaka Station."})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q was answered badly: %d\n", noted.Question, noted.Failures)
	// Output: "Where is my hotel?" was answered badly: 1
}

// Feedback can also rate an answer that is not a turn of Cairn.
func ExampleClient_Feedback_question() {
	c, err := client.New(client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	noted, err := c.Feedback(context.Background(), client.FeedbackRequest{Rating: client.Bad,
		Question: "Which seat does Bob prefer?", Answer: "A window seat."})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(noted.Case > 0, noted.Failures)
	// Output: true 1
}
