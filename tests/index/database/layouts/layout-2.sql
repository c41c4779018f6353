BEGIN TRANSACTION;
CREATE TABLE bags (
	collection INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	text TEXT, 
	details BLOB NOT NULL, 
	vectors BLOB NOT NULL, 
	PRIMARY KEY (collection, revision, position), 
	FOREIGN KEY(collection, revision) REFERENCES items (collection, revision) ON DELETE CASCADE
);
INSERT INTO "bags" VALUES(1,2,0,'a sentence''s words',X'5B2261225D000000000001000000',X'6500000000');
INSERT INTO "bags" VALUES(1,2,-1,NULL,X'5B2277686F6C65225D0000000000000000000000803F0000803F',X'6500000000');
INSERT INTO "bags" VALUES(1,4,0,'a sentence''s words',X'5B2261225D000000000001000000',X'65003C003C');
INSERT INTO "bags" VALUES(1,4,-1,NULL,X'5B2277686F6C65225D0000000000000000000000803F0000803F',X'65003C003C');
CREATE TABLE changes (
	collection INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	mark VARCHAR NOT NULL, 
	PRIMARY KEY (collection, revision), 
	FOREIGN KEY(collection) REFERENCES collections ("key") ON DELETE CASCADE
);
INSERT INTO "changes" VALUES(1,3,'05bb787d169e4bd99dab5da9b9529d80');
INSERT INTO "changes" VALUES(1,4,'ae64f1f8fb11461da98f41f2465c5d97');
INSERT INTO "changes" VALUES(1,5,'1d783969eef345d8a8fd4cf5fba7f199');
CREATE TABLE collections (
	"key" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	token VARCHAR NOT NULL, 
	name VARCHAR, 
	fingerprint VARCHAR NOT NULL, 
	dimension INTEGER NOT NULL, 
	score VARCHAR NOT NULL, 
	revision INTEGER NOT NULL, 
	floor INTEGER NOT NULL, 
	replaces INTEGER, 
	copied INTEGER NOT NULL, 
	UNIQUE (name), 
	UNIQUE (replaces), 
	FOREIGN KEY(replaces) REFERENCES collections ("key") ON DELETE CASCADE
);
INSERT INTO "collections" VALUES(1,'ac001f81e43744eab75cd3d9b9e6a2c9','default','model-a',2,'sum_of_max',5,0,NULL,0);
CREATE TABLE facets (
	collection INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (collection, revision, "key", value), 
	FOREIGN KEY(collection, revision) REFERENCES items (collection, revision) ON DELETE CASCADE
);
INSERT INTO "facets" VALUES(1,2,'tags','"x"');
INSERT INTO "facets" VALUES(1,2,'version','0');
INSERT INTO "facets" VALUES(1,2,'tags','"ä"');
INSERT INTO "facets" VALUES(1,4,'tags','"x"');
INSERT INTO "facets" VALUES(1,4,'version','1');
INSERT INTO "facets" VALUES(1,4,'tags','"ä"');
CREATE TABLE items (
	collection INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	id VARCHAR NOT NULL, 
	bucket INTEGER NOT NULL, 
	metadata TEXT NOT NULL, 
	source TEXT, 
	stamp TEXT, 
	PRIMARY KEY (collection, revision), 
	UNIQUE (collection, id), 
	FOREIGN KEY(collection) REFERENCES collections ("key") ON DELETE CASCADE
);
INSERT INTO "items" VALUES(1,2,'b/1',37476,'{"version": 0, "tags": ["x", "ä"]}','/photos/b/1.jpg','12 34');
INSERT INTO "items" VALUES(1,4,'a',7707,'{"version": 1, "tags": ["x", "ä"]}','/photos/a.jpg','12 34');
CREATE TABLE pictures (
	collection INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	width INTEGER NOT NULL, 
	height INTEGER NOT NULL, 
	digest VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	PRIMARY KEY (collection, revision), 
	FOREIGN KEY(collection, revision) REFERENCES items (collection, revision) ON DELETE CASCADE
);
INSERT INTO "pictures" VALUES(1,2,4,3,'0000000000000000000000000000000000000000000000000000000000000000','9a35064686dc4ec0dbe42b8a014095a1904da3d00ef27757852637e12acd8f84');
INSERT INTO "pictures" VALUES(1,4,4,3,'0000000000000000000000000000000000000000000000000000000000000000','042a5f2e7634c4c80a75691b6b89dfe4e1758558ce99e7346b5297b68fa95d11');
CREATE TABLE retired (
	collection INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	was INTEGER NOT NULL, 
	id VARCHAR NOT NULL, 
	picture VARCHAR, 
	PRIMARY KEY (collection, revision), 
	FOREIGN KEY(collection) REFERENCES collections ("key") ON DELETE CASCADE
);
INSERT INTO "retired" VALUES(1,4,1,'a','e7fc2e46e57ddc98fa831fc3b6285c630efa89924a749e71cc1299cc2d6efc41');
INSERT INTO "retired" VALUES(1,5,3,'ä','6525a713955f2efb91c1bdfaa486b52643cc22884a5deb70493d8d227eb8a651');
CREATE TABLE settings (
	name VARCHAR NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "settings" VALUES('layout','2');
INSERT INTO "settings" VALUES('secret','47159270dc3f510966a8f11a600ab9dd15dedde33308825a170950456fb48bb3');
CREATE INDEX items_by_source ON items (collection, source);
CREATE INDEX retired_by_picture ON retired (picture);
CREATE INDEX pictures_by_name ON pictures (name);
CREATE INDEX facets_by_value ON facets (collection, "key", value, revision);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('collections',1);
COMMIT;
