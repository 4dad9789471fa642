-- What the PostgreSQL peer runs: a table of stock, one of orders, one function for each verb.
-- States: 0 reserved, 1 paid, 2 fulfilled, 3 cancelled.

CREATE TABLE stock (row bigint PRIMARY KEY, available bigint NOT NULL CHECK (available >= 0));
CREATE TABLE orders (id text PRIMARY KEY, state integer NOT NULL, rows bigint[] NOT NULL, units bigint[] NOT NULL);

-- No row if the order is new; the order if it is known; `available` of each line, and nothing taken, if one is short.
-- The insert decides whose order it is: the same id from elsewhere waits for it.
CREATE FUNCTION reserve(order_id text, wanted_rows bigint[], wanted_units bigint[])
RETURNS TABLE (state integer, rows bigint[], units bigint[], available bigint[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    seen bigint[];
BEGIN
    LOOP
        INSERT INTO orders VALUES (order_id, 0, wanted_rows, wanted_units) ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
        RETURN QUERY SELECT o.state, o.rows, o.units, NULL::bigint[] FROM orders o WHERE o.id = order_id;
        -- Not there any more: it was refused meanwhile.
        IF FOUND THEN RETURN; END IF;
    END LOOP;
    -- Locked in the order of rows, so that crossing orders do not deadlock.
    PERFORM 1 FROM stock s WHERE s.row = ANY (wanted_rows) ORDER BY s.row FOR UPDATE;
    SELECT array_agg(s.available ORDER BY w.row) INTO seen
        FROM unnest(wanted_rows) AS w(row) LEFT JOIN stock s ON s.row = w.row;
    IF EXISTS (SELECT 1 FROM unnest(seen, wanted_units) AS it(has, wants) WHERE has IS NULL OR has < wants) THEN
        DELETE FROM orders o WHERE o.id = order_id;
        RETURN QUERY SELECT 0, wanted_rows, wanted_units, seen;
        RETURN;
    END IF;
    UPDATE stock s SET available = s.available - w.units
        FROM unnest(wanted_rows, wanted_units) AS w(row, units) WHERE s.row = w.row;
END $$;

-- The order as it was found; no row if there is none.
CREATE FUNCTION cancel(order_id text)
RETURNS TABLE (state integer, rows bigint[], units bigint[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    found_order orders;
BEGIN
    SELECT * INTO found_order FROM orders o WHERE o.id = order_id FOR UPDATE;
    IF NOT FOUND THEN RETURN; END IF;
    IF found_order.state < 2 THEN
        UPDATE orders o SET state = 3 WHERE o.id = order_id;
        PERFORM 1 FROM stock s WHERE s.row = ANY (found_order.rows) ORDER BY s.row FOR UPDATE;
        UPDATE stock s SET available = s.available + w.units
            FROM unnest(found_order.rows, found_order.units) AS w(row, units) WHERE s.row = w.row;
    END IF;
    RETURN QUERY SELECT found_order.state, found_order.rows, found_order.units;
END $$;

-- The state in which the order was found; NULL if there is none.
CREATE FUNCTION advance(order_id text, from_state integer, to_state integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    found_state integer;
BEGIN
    SELECT o.state INTO found_state FROM orders o WHERE o.id = order_id FOR UPDATE;
    IF found_state = from_state THEN
        UPDATE orders o SET state = to_state WHERE o.id = order_id;
    END IF;
    RETURN found_state;
END $$;
