//! Transactions of the connection pool, and callers that abandon one.

use crate::support::db::TestDb;
use rds_store::Db;
use std::future::{Future, poll_fn};
use std::task::Poll;

#[tokio::test]
async fn a_transaction_abandoned_while_it_begins_leaves_no_connection_in_a_transaction() {
    let facts = TestDb::new().await;
    let db = Db::connect(&facts.url, 1).await.unwrap();
    for round in 0..20 {
        // The caller stops waiting after BEGIN was sent, so the database still executes it.
        let mut begun = Box::pin(db.begin("BEGIN"));
        let asked = poll_fn(|context| Poll::Ready(begun.as_mut().poll(context).is_pending())).await;
        assert!(asked, "BEGIN waits for the database");
        drop(begun);
        sqlx::query(&format!("CREATE TABLE kept_{round} ()")).execute(&db.pool).await.unwrap();
        let seen: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL")
            .bind(format!("kept_{round}"))
            .fetch_one(&facts.db.pool)
            .await
            .unwrap();
        assert!(seen, "the statement was not committed, round {round}");
    }
}
