#!/usr/bin/perl
# A page could not be given a file.
use strict;
use warnings;
use BrowserTask::Apps;
use BrowserTask::Harness;
use BrowserTask::Scenario;
use MIME::Base64 qw(encode_base64);
use Test::More;

my $apps = BrowserTask::Apps->new($ENV{srcdir} // '.', sub { return (
	'POST /files' => [ 200, '<title>Sent</title><h1>Sent</h1>' ]) });
my $i = BrowserTask::Harness->new->start;
my $c = client($i);

sub give {
	my (@fields) = @_;
	return task($c, 'submit_and_verify', { startUrl => $apps->url('/files'),
		submit => { mode => 'semantic', query => 'Send' },
		fields => \@fields });
}

my $bytes = "\xff\xd8\x00\x01" x 90000;
my $r = give({ name => 'Curriculum', file => { name => 'cv.txt',
		mediaType => 'text/plain', text => 'Ada' } },
	{ name => 'Photo', file => { name => 'ada.jpg',
		mediaType => 'image/jpeg',
		base64 => encode_base64($bytes, '') } },
	{ name => 'Plans', file => { name => 'plan.pdf', text => '%PDF' } });
is($r->{status}, 'succeeded', 'files are given') or diag explain $r->{error};
my ($sent) = $apps->posts;
like($sent, qr{cv=cv\.txt\+text%2Fplain\+3\+65\.100\.97}, 'to a field');
like($sent, qr{photo=ada\.jpg\+image%2Fjpeg\+360000\+255\.216\.0\.1},
	'to a field that only a button shows, every byte');
like($sent, qr{plans=plan\.pdf\+application%2Foctet-stream\+4\+37},
	'to a place that they are dropped on');
like("@{ $r->{warnings} }", qr/dropped/, 'of which there is a warning')
    or diag explain $r->{warnings};

$r = give({ name => 'Send', file => { name => 'x', text => 'x' } });
like($r->{error}{message}, qr/takes no file|is no field/,
	'what takes no file is refused') or diag explain $r;
$r = give({ name => 'Photo', file => { name => 'x', base64 => '***' } });
like($r->{error}{message}, qr/not base64/, 'what is not base64, too');
for my $bad ({ name => 'x' }, { text => 'x' }, { name => 'x', text => 'x',
	base64 => 'eA==' }, { name => 'x', path => '/etc/passwd' }) {
	$r = give({ name => 'Photo', file => $bad });
	is($r->{errorCode}, 'INVALID_PARAMETER',
		'refused: ' . join ' ', sort keys %$bad);
}

is($i->stop, 0, 'stops');
is($apps->stop, 0, 'the applications, too');
done_testing();
